import { useStrings } from "../strings";
import { reasonText } from "../strings/catalogue";
import { visible } from "../base/visible";
import "./thread.css";

/** The reason of a failed run; details for developers can be opened. */
export function FailureReason({ why }: { why: string }) {
  const strings = useStrings();
  const [message = "", ...rest] = reasonText(why.trim(), strings).split("\n");
  const details = rest.join("\n").trim();
  return (
    <div className="failure-reason" data-testid="failure-reason">
      <div>{message ? visible(message) : strings.noReason}</div>
      {details && (
        <details>
          <summary>{strings.errorDetails}</summary>
          <pre>{visible(details)}</pre>
        </details>
      )}
    </div>
  );
}
