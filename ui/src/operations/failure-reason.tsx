import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import "./operations.css";

/** Why a run failed; details for developers can be opened. */
export function FailureReason({ why }: { why: string }) {
  const strings = useStrings();
  const [words = "", ...rest] = why.trim().split("\n");
  const details = rest.join("\n").trim();
  return (
    <div className="failure-reason" data-testid="failure-reason">
      <div>{words ? visible(words) : strings.noReason}</div>
      {details && (
        <details>
          <summary>{strings.errorDetails}</summary>
          <pre>{visible(details)}</pre>
        </details>
      )}
    </div>
  );
}
