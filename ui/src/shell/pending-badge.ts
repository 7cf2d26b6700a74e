import { useEffect } from "react";
import { useCounts } from "../api/counts";

/** How many requests wait; nothing when none does. */
export function usePendingCount(): string {
  const count = useCounts()?.pending;
  return count === "0" ? "" : (count ?? "");
}

/** Say in the tab how many requests wait. */
export function useBadge(count: string): void {
  useEffect(() => {
    document.title = count ? `(${count}) Ringi` : "Ringi";
    document.querySelector("link[rel=icon]")?.setAttribute("href", count ? "/stamp-dot.svg" : "/stamp.svg");
  }, [count]);
}
