import { Alert, Button } from "antd";
import { ProblemError } from "../api/call";
import { visible } from "../widgets/visible";
import { useWords, type Words } from "./words";

type Refusal = Exclude<keyof Words["refused"], "claimed">;
const byCode: Record<string, Refusal> = { final: "final", conflict: "busy" };
const byStatus: Record<number, Refusal> = {
  0: "offline", 403: "notYours", 404: "notYours", 422: "invalid", 429: "tooMany", 503: "busy",
};
/** Refusals that say all in our own words; of the others the server's words are shown too. */
const plain = new Set([0, 403, 404, 429, 503]);

function inWords(error: ProblemError, holder: string | null, strings: Words): string {
  const { refused } = strings;
  if (error.code === "digest_mismatch") return strings.digestMismatch;
  if (error.code === "claimed") return holder ? refused.claimed(visible(holder)) : refused.claimedByOther;
  return refused[byCode[error.code ?? ""] ?? byStatus[error.status] ?? "failed"];
}

interface RefusedProps {
  error: Error | null;
  retry: (() => void) | null;
  holder?: string | null;
}

/** Why the server did not do it, in this person's language, and what can be done now. */
export function Refused({ error, retry, holder = null }: RefusedProps) {
  const strings = useWords();
  if (!error) return null;
  const known = error instanceof ProblemError;
  const isPlain = known && (plain.has(error.status) || error.status === 409);
  const isWorthRetry = !known || error.status === 0 || error.status === 429 || error.status >= 500;
  return (
    <Alert
      type="error" showIcon data-testid="error" role="alert"
      title={known ? inWords(error, holder, strings) : strings.refused.failed}
      description={isPlain ? undefined : visible(error.message)}
      action={retry && isWorthRetry && (
        <Button size="small" onClick={retry} data-testid="retry">{strings.retry}</Button>
      )}
    />
  );
}
