import { Alert, Switch } from "antd";
import { useStrings } from "../strings";
import { formatCount } from "./stake";

interface EqualAlertProps {
  /** The number of equal requests, this one included. */
  count: number;
  answersAll: boolean;
  onChange: (answersAll: boolean) => void;
}

/** Above an open request: whether one decision answers all requests that are equal to it. */
export default function EqualAlert({ count, answersAll, onChange }: EqualAlertProps) {
  const strings = useStrings();
  const label = strings.answersAll(formatCount(count, strings.language));
  return (
    <Alert
      type="info" showIcon className="equal-alert" data-testid="equal-alert" title={label} description={strings.answersAllHint}
      action={<Switch checked={answersAll} onChange={onChange} aria-label={label} data-testid="answers-all" />}
    />
  );
}
