import { Button } from "antd";
import { createContext, Suspense, useContext, useMemo, useState, type ReactNode } from "react";
import { useRequestStrings } from "../strings/detail";
import { KeyLabel } from "../base/key-label";
import { useKeys } from "../base/keys";
import { Loading } from "../widgets/loading";

/** The key that shows more of everything that is cut. */
export const showMoreKey = "o";

/** How much is shown: each step shows ten times more, and the last one everything. */
export interface Expansion {
  level: number;
  expand: () => void;
}

export const lastLevel = 3;

const ExpansionContext = createContext<Expansion | null>(null);

/** Return the expansion of the request around; without one, of the caller alone. */
export function useExpansion(): Expansion {
  const shared = useContext(ExpansionContext);
  const [level, setLevel] = useState(0);
  return shared ?? { level, expand: () => setLevel(level + 1) };
}

/** Everything below appears together, so that nothing moves, and is expanded together, also by a key. */
export function ExpansionProvider({ children }: { children: ReactNode }) {
  const strings = useRequestStrings();
  const [level, setLevel] = useState(0);
  const expansion = useMemo(() => ({ level, expand: () => setLevel((now) => now + 1) }), [level]);
  useKeys(strings.keysOfRequest, level < lastLevel ? [{ key: showMoreKey, label: strings.showFullText, run: expansion.expand }] : []);
  return <ExpansionContext value={expansion}><Suspense fallback={<Loading paragraph={{ rows: 6 }} />}>{children}</Suspense></ExpansionContext>;
}

/** Say what is cut, with the way to see it. */
export function MoreButton({ label, onExpand }: { label: string; onExpand: () => void }) {
  return (
    <Button size="small" type="link" className="show-more" onClick={onExpand} data-testid="show-more">
      <KeyLabel label={label} keyName={showMoreKey} />
    </Button>
  );
}
