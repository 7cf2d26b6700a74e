import { Alert } from "antd";
import type { Thread } from "../api/types";
import { useStrings } from "../strings";
import { FailureReason } from "./failure-reason";

export function StuckAlert({ thread, isErrorShown }: { thread: Thread; isErrorShown: boolean }) {
  const strings = useStrings();
  if (thread.status === "error") {
    return isErrorShown ? <p className="quiet">{strings.errorHint}</p> : (
      <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={thread.error ?? ""} />} data-testid="error" />
    );
  }
  return (
    <Alert
      type="warning" showIcon title={strings.runStuck} data-testid="stranded"
      description={<FailureReason why={thread.attention ?? ""} />}
    />
  );
}
