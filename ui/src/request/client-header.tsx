import { useRequests } from "../api/requests";
import type { Request } from "../api/types";
import { Link, sessionPath } from "../base/router";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { clientName, clientOf } from "./client-call";
import { folderOf } from "./granting";
import { Folder } from "./folder";

/** The open requests of a session of a client, newest first. */
export const useSessionRequests = (thread: string) => useRequests({ tab: "pending", thread });

/** Return the number of open requests, "100+" while more can be loaded; undefined before the first answer. */
export function openCount({ data, hasNextPage }: ReturnType<typeof useSessionRequests>): string | undefined {
  const count = data?.pages.reduce((sum, { items }) => sum + items.length, 0);
  return count === undefined ? undefined : `${count}${hasNextPage ? "+" : ""}`;
}

function SessionLink({ thread }: { thread: string }) {
  const { client } = useRequestStrings();
  const count = openCount(useSessionRequests(thread));
  return <Link to={sessionPath(thread)} testId="session-link">{client.session(count ?? null)}</Link>;
}

/** The client outside of Ringi that waits, its folder, and its session; among others of its session the folder alone. */
export function ClientHeader({ request, isInSession }: { request: Request; isInSession: boolean }) {
  const client = clientOf(request);
  if (client === undefined) return null;
  const folder = folderOf(request);
  return (
    <div className="client" data-testid="client">
      {!isInSession && <strong>{visible(clientName(client))}</strong>}
      {folder !== undefined && <Folder path={folder} />}
      {!isInSession && request.thread_id !== null && <SessionLink thread={request.thread_id} />}
    </div>
  );
}
