import { App, Empty, Skeleton } from "antd";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useRequests, type Shown } from "../api/requests";
import type { Request } from "../api/types";
import { outcomeOf } from "../request/outcome";
import { useStrings } from "../strings";
import { useNarrow } from "../widgets/media";
import { go, Link, requestPath } from "../widgets/router";
import { visible } from "../widgets/visible";
import { RequestList } from "./request-list";

const loadDetail = () => import("../request/request-detail");
const RequestDetail = lazy(() => loadDetail().then((module) => ({ default: module.RequestDetail })));

function neighbour(ids: string[], id: string | undefined): string | undefined {
  const at = id === undefined ? -1 : ids.indexOf(id);
  return at < 0 ? undefined : (ids[at + 1] ?? ids[at - 1]);
}

/** The pending request to open after this one; remembered, because a decided one has left the list already. */
function useNext(openId: string | undefined): () => string | undefined {
  const { data } = useRequests("pending");
  const ids = data?.pages.flatMap((page) => page.items.map((item) => item.id)) ?? [];
  const beside = useRef<string | undefined>(undefined);
  const now = neighbour(ids, openId);
  useEffect(() => {
    if (now !== undefined) beside.current = now;
  }, [now]);
  return () => {
    const rest = ids.filter((id) => id !== openId);
    return beside.current !== undefined && rest.includes(beside.current) ? beside.current : rest[0];
  };
}

interface InboxProps {
  openId: string | undefined;
}

export function Inbox({ openId }: InboxProps) {
  const strings = useStrings();
  const narrow = useNarrow();
  const { message } = App.useApp();
  const [shown, setShown] = useState<Shown>("pending");
  const list = useRequests(shown);
  const next = useNext(openId);

  useEffect(() => {
    // The list comes first; by the time somebody has read it, the forms are here too.
    if (list.isSuccess) void loadDetail();
  }, [list.isSuccess]);

  const decided = (completed: Request) => {
    const outcome = outcomeOf(completed, null, strings) ?? "";
    void message.success(strings.saved(outcome, visible(completed.title)));
    const id = next();
    if (id !== undefined) go(requestPath(id));
  };
  const detail = openId === undefined
    ? <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.pick} className="pick" />
    : <Suspense fallback={<Skeleton active />}><RequestDetail key={openId} id={openId} onDecided={decided} /></Suspense>;
  return (
    <div className="inbox">
      {!(narrow && openId !== undefined) && <RequestList list={list} shown={shown} onShow={setShown} openId={openId} />}
      {!(narrow && openId === undefined) && (
        <div className="detail-side">
          {narrow && <Link to="/" className="back" testId="back">← {strings.back}</Link>}
          {detail}
        </div>
      )}
    </div>
  );
}
