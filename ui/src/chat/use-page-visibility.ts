import { useEffect, useRef } from "react";

interface VisibilityHandlers {
  onHidden: () => void;
  onVisible: () => void;
}

/** Call the handlers when the page is hidden and when it becomes visible again. */
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
