import { createContext, useContext, useState, type ReactNode, type SyntheticEvent } from "react";

/** What the reader has unfolded; a line that leaves the view of a long thread comes back as it was left. */
export const OpenDisclosures = createContext<Set<string>>(new Set());

interface DisclosureProps {
  id: string;
  summary: ReactNode;
  children: ReactNode;
  testId?: string;
}

/** A line that opens; what it hides is not even made before. */
export function Disclosure({ id, summary, children, testId }: DisclosureProps) {
  const openIds = useContext(OpenDisclosures);
  const [open, setOpen] = useState(() => openIds.has(id));
  const onToggle = (event: SyntheticEvent<HTMLDetailsElement>) => {
    const now = event.currentTarget.open;
    if (now) openIds.add(id);
    else openIds.delete(id);
    setOpen(now);
  };
  return (
    <details className="disclosure" open={open} onToggle={onToggle} data-testid={testId}>
      <summary>{summary}</summary>
      {open && <div className="disclosure-body">{children}</div>}
    </details>
  );
}
