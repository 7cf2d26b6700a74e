import { useEffect, useRef } from "react";

interface Visibility {
  hidden: () => void;
  visible: () => void;
}

/** Tell when the page goes out of sight and comes back. */
export function useHidden(told: Visibility): void {
  const latest = useRef(told);
  useEffect(() => {
    latest.current = told;
  });
  useEffect(() => {
    const changed = () => (document.hidden ? latest.current.hidden() : latest.current.visible());
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
}
