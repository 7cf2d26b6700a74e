import { Tooltip } from "antd";
import type { Request } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { Link, sessionPath } from "../base/router";
import { visible } from "../base/visible";
import { clientName, clientOf } from "./client";
import { folderOf } from "./granting";
import { openCount, useSessionRequests } from "./session-requests";

/** A folder whose end stays in sight; the whole path is in its tooltip. */
export function Folder({ path }: { path: string }) {
  const { client } = useRequestStrings();
  const text = visible(path);
  return (
    <Tooltip title={text} trigger={["hover", "focus", "click"]}>
      {/* A button, so that the whole path is in reach of the keyboard and of a finger. */}
      <button type="button" className="folder" aria-label={client.folder(text)} data-testid="client-folder"><bdi dir="ltr">{text}</bdi></button>
    </Tooltip>
  );
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
