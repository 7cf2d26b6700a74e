import { Alert, Button } from "antd";
import { ProblemError } from "../api/call";
import { useRequestStrings, type RequestStrings } from "../strings/use-request-strings";
import { visible } from "../widgets/visible";

type Refusal = Exclude<keyof RequestStrings["refusals"], "claimed">;
const byCode: Record<string, Refusal> = { final: "alreadyAnswered", conflict: "busy" };
const byStatus: Record<number, Refusal> = {
  0: "offline", 403: "notAllowed", 404: "notAllowed", 422: "invalid", 429: "tooMany", 503: "busy",
};
/** Statuses that our own text explains fully; for others the server's text is shown too. */
const selfExplanatory = new Set([0, 403, 404, 429, 503]);

function messageOf(error: ProblemError, claimant: string | null, strings: RequestStrings): string {
  const { refusals } = strings;
  if (error.code === "digest_mismatch") return strings.digestMismatch;
  if (error.code === "claimed") return claimant ? refusals.claimed(visible(claimant)) : refusals.claimedByOther;
  return refusals[byCode[error.code ?? ""] ?? byStatus[error.status] ?? "failed"];
}

interface RefusalAlertProps {
  error: Error | null;
  retry: (() => void) | null;
  claimant?: string | null;
}

/** The reason of a refusal, with a retry button where a retry makes sense. */
export function RefusalAlert({ error, retry, claimant = null }: RefusalAlertProps) {
  const strings = useRequestStrings();
  if (!error) return null;
  const isProblem = error instanceof ProblemError;
  const isPlain = isProblem && (selfExplanatory.has(error.status) || error.status === 409);
  const isWorthRetry = !isProblem || error.status === 0 || error.status === 429 || error.status >= 500;
  return (
    <Alert
      type="error" showIcon data-testid="error" role="alert"
      title={isProblem ? messageOf(error, claimant, strings) : strings.refusals.failed}
      description={isPlain ? undefined : visible(error.message)}
      action={retry && isWorthRetry && (
        <Button size="small" onClick={retry} data-testid="retry">{strings.retry}</Button>
      )}
    />
  );
}
