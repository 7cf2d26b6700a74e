import { Alert, Button } from "antd";
import { ProblemError } from "../api/call";
import { providerAddress, useProvider } from "../api/session";
import { visible } from "../base/visible";
import { problemText } from "../strings/catalogue";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { detailOf } from "../widgets/problem";

/** Statuses that the text of their code explains fully; for others English has the server's detail too. */
const selfExplanatory = new Set([0, 401, 404, 409, 429, 503]);

function messageOf(error: Error, claimant: string | null, strings: RequestStrings): string {
  if (!(error instanceof ProblemError)) return strings.texts.decision.failed;
  if (error.code === "claimed" && claimant) return strings.texts.problems.claimed_by.replace("{name}", () => visible(claimant));
  return visible(problemText(error, strings, true));
}

interface RefusalAlertProps {
  error: Error | null;
  retry: (() => void) | null;
  claimant?: string | null;
}

/** A link to the provider, which leads back to this page; nothing if people sign in with tokens. */
function SignInAgain() {
  const strings = useRequestStrings();
  return useProvider() && <Button size="small" href={providerAddress(true)} data-testid="sign-in-again">{strings.signInWithProvider}</Button>;
}

/** The reason of a refusal, with a retry button where a retry makes sense. */
export function RefusalAlert({ error, retry, claimant = null }: RefusalAlertProps) {
  const strings = useRequestStrings();
  if (!error) return null;
  const isProblem = error instanceof ProblemError;
  const isPlain = isProblem && selfExplanatory.has(error.status);
  const isWorthRetry = !isProblem || error.status === 0 || error.status === 429 || error.status >= 500;
  return (
    <Alert
      type="error" showIcon data-testid="error" role="alert"
      title={messageOf(error, claimant, strings)}
      description={isPlain ? undefined : detailOf(error, strings)}
      action={isProblem && error.code === "fresh_sign_in" ? <SignInAgain /> : retry && isWorthRetry && (
        <Button size="small" onClick={retry} data-testid="retry">{strings.retry}</Button>
      )}
    />
  );
}
