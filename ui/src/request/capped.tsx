import { Button } from "antd";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useWords } from "./words";

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

interface CappedProps {
  label: string;
  testId: string;
  whole: boolean;
  onShow: () => void;
  children: ReactNode;
}

/** Words of an agent in a quiet box; long ones show their beginning, that there is more, and how to see it. */
export function Capped({ label, testId, whole, onShow, children }: CappedProps) {
  const strings = useWords();
  const { area, overflows } = useOverflow();
  const cut = overflows && !whole;
  return (
    <aside className="agent-words" data-testid={testId} aria-label={label}>
      <div className="quiet">{label}</div>
      <div ref={area} className={whole ? undefined : "capped"} data-cut={cut}>{children}</div>
      {cut && (
        <Button size="small" type="link" onClick={onShow} data-testid="show-rest">
          {strings.showRest}<kbd className="key" aria-hidden="true">{showRestKey}</kbd>
        </Button>
      )}
    </aside>
  );
}

export const showRestKey = "o";
