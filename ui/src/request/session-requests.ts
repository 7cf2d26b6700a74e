import { useRequests } from "../api/request-list";

/** The open requests of a session of a client, newest first. */
export const useSessionRequests = (thread: string) => useRequests({ tab: "pending", thread });

/** Return the number of open requests, "100+" while more can be loaded; undefined before the first answer. */
export function openCount({ data, hasNextPage }: ReturnType<typeof useSessionRequests>): string | undefined {
  const count = data?.pages.reduce((sum, { items }) => sum + items.length, 0);
  return count === undefined ? undefined : `${count}${hasNextPage ? "+" : ""}`;
}
