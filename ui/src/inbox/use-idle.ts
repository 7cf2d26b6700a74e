import { useEffect, useState } from "react";

/** Return whether the list is rendered and the browser is idle, so that more code can be loaded. */
export function useIdle(isShown: boolean): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    if (!isShown) return;
    const rest = () => setIdle(true);
    if ("requestIdleCallback" in window) requestIdleCallback(rest, { timeout: 2_000 });
    else setTimeout(rest, 500);
  }, [isShown]);
  return isIdle;
}
