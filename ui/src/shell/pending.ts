import { useEffect } from "react";
import { useRequests } from "../api/requests";

/** How many requests wait, as far as they are loaded: "50+" rather than a number that is not known. */
export function usePendingCount(): string {
  const { data, hasNextPage } = useRequests({ tab: "pending" });
  const count = data?.pages.reduce((sum, page) => sum + page.items.length, 0) ?? 0;
  return count === 0 ? "" : `${count}${hasNextPage ? "+" : ""}`;
}

/** Say in the tab how many requests wait. */
export function useBadge(count: string): void {
  useEffect(() => {
    document.title = count ? `(${count}) Ringi` : "Ringi";
    document.querySelector("link[rel=icon]")?.setAttribute("href", count ? "/stamp-dot.svg" : "/stamp.svg");
  }, [count]);
}
