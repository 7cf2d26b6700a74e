import { Button } from "antd";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { ValueDiff, type ValueDiffProps } from "./value-diff";

interface ValueDiffLineProps extends ValueDiffProps {
  name: string;
  onReset: () => void;
  disabled: boolean;
}

/** A difference with a reset button. */
export function ValueDiffLine({ name, onReset, disabled, ...change }: ValueDiffLineProps) {
  const strings = useRequestStrings();
  return (
    <div className="value-diff" data-testid={`change-${name}`}>
      <div><ValueDiff {...change} /></div>
      <Button
        type="link" size="small" onClick={onReset} disabled={disabled} aria-label={strings.resetField(visible(name))}
      >
        {strings.reset}
      </Button>
    </div>
  );
}
