import { Button } from "antd";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useRequestStrings } from "../strings/use-request-strings";

function useOverflow() {
  const area = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    const measure = () => setOverflows(element.scrollHeight > element.clientHeight + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of Array.from(element.children)) observer.observe(child);
    return () => observer.disconnect();
  });
  return { area, overflows };
}

interface CollapsibleTextProps {
  label: string;
  testId: string;
  isExpanded: boolean;
  onExpand: () => void;
  children: ReactNode;
}

/** Text of an agent in a quiet box; a long one is cut and has a button to show the rest. */
export function CollapsibleText({ label, testId, isExpanded, onExpand, children }: CollapsibleTextProps) {
  const strings = useRequestStrings();
  const { area, overflows } = useOverflow();
  const isShortened = overflows && !isExpanded;
  return (
    <aside className="agent-context" data-testid={testId} aria-label={label}>
      <div className="quiet">{label}</div>
      <div ref={area} className={isExpanded ? undefined : "collapsible-text"} data-cut={isShortened}>{children}</div>
      {isShortened && (
        <Button size="small" type="link" onClick={onExpand} data-testid="show-rest">
          {strings.showFullText}<kbd className="key-hint" aria-hidden="true">{showRestKey}</kbd>
        </Button>
      )}
    </aside>
  );
}

export const showRestKey = "o";
