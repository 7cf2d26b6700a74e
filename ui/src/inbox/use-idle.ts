import { useEffect, useState } from "react";

/** Whether the list is there and drawn: by the time somebody has read it, the rest can be here too. */
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
