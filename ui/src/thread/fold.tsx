import { createContext, useContext, useState, type ReactNode, type SyntheticEvent } from "react";

/** What the reader has unfolded; a line that leaves the view of a long thread comes back as it was left. */
export const Unfolded = createContext<Set<string>>(new Set());

interface FoldProps {
  id: string;
  summary: ReactNode;
  children: ReactNode;
  testId?: string;
}

/** A line that opens; what it hides is not even made before. */
export function Fold({ id, summary, children, testId }: FoldProps) {
  const unfolded = useContext(Unfolded);
  const [open, setOpen] = useState(() => unfolded.has(id));
  const toggled = (event: SyntheticEvent<HTMLDetailsElement>) => {
    const now = event.currentTarget.open;
    if (now) unfolded.add(id);
    else unfolded.delete(id);
    setOpen(now);
  };
  return (
    <details className="fold" open={open} onToggle={toggled} data-testid={testId}>
      <summary>{summary}</summary>
      {open && <div className="fold-body">{children}</div>}
    </details>
  );
}
