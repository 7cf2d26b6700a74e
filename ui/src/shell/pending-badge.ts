import { useEffect } from "react";
import { useCounts } from "../api/counts";
import { basePath } from "../base/base-path";

/** Return the number of pending requests as text; empty for none. */
export function usePendingCount(): string {
  const count = useCounts()?.pending;
  return count === "0" ? "" : (count ?? "");
}

/** Show the number of pending requests in the browser tab. */
export function useBadge(count: string): void {
  useEffect(() => {
    document.title = count ? `(${count}) Ringi` : "Ringi";
    document.querySelector("link[rel=icon]")?.setAttribute("href", `${basePath}/${count ? "stamp-dot" : "stamp"}.svg`);
  }, [count]);
}
