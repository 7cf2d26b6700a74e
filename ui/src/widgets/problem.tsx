import { Alert, Button } from "antd";
import type { ReactNode } from "react";
import { ProblemError } from "../api/call";
import { useStrings, type Strings } from "../strings";
import { visible } from "./visible";

export function explain(error: unknown, strings: Strings): string {
  if (error instanceof ProblemError && error.status === 0) return strings.unreachable;
  return visible(error instanceof Error ? error.message : String(error));
}

interface ProblemProps {
  error: unknown;
  title?: string;
  retry?: () => void;
  children?: ReactNode;
}

/** What went wrong and what to do; nothing when nothing went wrong. */
export function Problem({ error, title, retry, children }: ProblemProps) {
  const strings = useStrings();
  if (!error) return null;
  return (
    <Alert
      type="error"
      showIcon
      data-testid="error"
      title={title ?? explain(error, strings)}
      description={title ? explain(error, strings) : children}
      action={retry && <Button size="small" onClick={retry}>{strings.retry}</Button>}
    />
  );
}
