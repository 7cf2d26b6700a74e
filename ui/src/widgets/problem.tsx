import { Alert, Button } from "antd";
import type { ReactNode } from "react";
import { ProblemError } from "../api/call";
import { useStrings, type Strings } from "../strings";
import { visible } from "./visible";

type ProblemText = Exclude<keyof Strings["problems"], "refused">;
/** Statuses that our own text explains fully; for others the server's text is shown too. */
const textByStatus: Record<number, ProblemText> = { 403: "forbidden", 404: "notFound", 429: "tooMany", 503: "busy" };

export function explain(error: unknown, strings: Strings): string {
  if (!(error instanceof ProblemError)) return visible(error instanceof Error ? error.message : String(error));
  const { problems, unreachable } = strings;
  if (error.status === 0) return unreachable;
  if (error.reasons.length > 0) return [...new Set(error.reasons)].map(visible).join(" · ");
  const textKey = textByStatus[error.status] ?? (error.status >= 500 ? "failed" : undefined);
  return textKey ? problems[textKey] : problems.refused(visible(error.message));
}

interface ProblemProps {
  error: unknown;
  title?: string;
  retry?: () => void;
  closable?: { onClose: () => void; "aria-label": string };
  children?: ReactNode;
}

/** Show what went wrong and what to do; nothing without an error. */
export function Problem({ error, title, retry, closable, children }: ProblemProps) {
  const strings = useStrings();
  if (!error) return null;
  return (
    <Alert
      type="error"
      showIcon
      data-testid="error"
      title={title ?? explain(error, strings)}
      description={title ? explain(error, strings) : children}
      closable={closable ?? false}
      action={retry && <Button size="small" onClick={retry}>{strings.retry}</Button>}
    />
  );
}
