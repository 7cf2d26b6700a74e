import { useEffect, useRef } from "react";

interface VisibilityHandlers {
  onHidden: () => void;
  onVisible: () => void;
}

/** Tell when the page goes out of sight and comes back. */
export function usePageVisibility(handlers: VisibilityHandlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const changed = () => (document.hidden ? latest.current.onHidden() : latest.current.onVisible());
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
}
