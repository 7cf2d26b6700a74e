import { Alert, Button } from "antd";
import type { ReactNode } from "react";
import { LocalError, ProblemError } from "../api/call";
import { useStrings, type Strings } from "../strings";
import { fieldName, fieldText, problemText } from "../strings/catalogue";
import { visible } from "../base/visible";

/** Statuses that the text of their code explains fully; for others English has the server's detail too. */
const selfExplanatory = new Set([0, 401, 403, 404, 429]);

/** Return the server's detail for a developer, who reads English; the details of other errors are in English too. */
export const detailOf = (error: Error, { language }: Strings) =>
  (language === "en" || error instanceof LocalError ? visible(error.message) : undefined);

export function explain(error: unknown, strings: Strings): string {
  if (!(error instanceof ProblemError)) return (error instanceof Error && detailOf(error, strings)) || strings.texts.problems.failed;
  if (error.reasons.length > 0) return [...new Set(error.reasons)].map(visible).join(" · ");
  const fields = error.errors.map((fault) => visible(fault.field ? `${fieldName(fault.field, strings)}: ${fieldText(fault, strings)}` : fieldText(fault, strings)));
  if (fields.length > 0) return fields.join(" · ");
  const detail = error.status < 500 && !selfExplanatory.has(error.status) && detailOf(error, strings);
  const text = visible(problemText(error, strings));
  return detail ? `${text} (${detail})` : text;
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
