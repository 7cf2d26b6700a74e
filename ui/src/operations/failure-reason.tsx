import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import "./operations.css";

/** Why a run stopped: in words, and what a programmer needs behind a fold. */
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
