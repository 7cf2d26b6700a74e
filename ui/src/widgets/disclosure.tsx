import { createContext, useContext, useState, type ReactNode, type SyntheticEvent } from "react";

/** The ids of open disclosures, so that a row that scrolls out of view keeps its state. */
export const OpenDisclosuresContext = createContext<Set<string>>(new Set());

interface DisclosureProps {
  id: string;
  summary: ReactNode;
  children: ReactNode;
  testId?: string;
}

/** A line that can be opened; its content is rendered only then. */
export function Disclosure({ id, summary, children, testId }: DisclosureProps) {
  const openIds = useContext(OpenDisclosuresContext);
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
