import { Empty, type InputRef } from "antd";
import { Suspense, useEffect, useEffectEvent, useRef } from "react";
import type { Request } from "../api/types";
import { outcomeOf } from "../request/outcome";
import { titleOf } from "../request/title";
import { useStrings } from "../strings";
import { base } from "../widgets/base";
import { later } from "../widgets/later";
import { useNarrow } from "../widgets/media";
import { useMessages } from "../widgets/messages";
import { Loading } from "../widgets/loading";
import { close } from "./address";
import "./inbox.css";
import { RequestList } from "./request-list";
import { neighbour } from "./steady";
import { useActs, useListKeys, type Acts } from "./use-acts";
import { useIdle } from "./use-idle";
import { useInbox, type InboxState } from "./use-inbox";

const loadDetail = () => import("../request/request-detail");
const RequestDetail = later(() => loadDetail().then((module) => ({ default: module.RequestDetail })));

/** Say what was decided, let it leave the list, and open the next one. */
function useDecided({ shown }: InboxState, acts: Acts) {
  const strings = useStrings();
  const message = useMessages();
  return (completed: Request) => {
    const outcome = outcomeOf(completed, null, strings) ?? "";
    // One note for fifty decisions in a row, not fifty.
    void message.success({ content: strings.saved(outcome, titleOf(completed, strings)), key: "decided" });
    const next = neighbour(shown.rows, completed.id);
    if (!next) shown.showNew();
    // Also where the list has not heard yet that it ended.
    shown.tidy(completed.id);
    const following = next ?? shown.fresh.find((request) => request.id !== completed.id);
    if (following) acts.open(following.id);
  };
}

/** Who comes back from a request finds the focus on its row; on a phone, where the list was away, also what came since. */
function useReturn({ openId, cursor, shown }: InboxState, narrow: boolean): void {
  const before = useRef(openId);
  const returned = useEffectEvent((id: string) => {
    if (narrow) shown.showNew();
    cursor.focus(id);
  });
  useEffect(() => {
    if (before.current !== undefined && openId === undefined) returned(before.current);
    before.current = openId;
  }, [openId]);
}

function Detail({ inbox, acts }: { inbox: InboxState; acts: Acts }) {
  const strings = useStrings();
  const decided = useDecided(inbox, acts);
  const { openId, shown } = inbox;
  if (openId === undefined) {
    return shown.rows.length > 0 && <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.pick} className="inbox-pick" />;
  }
  if (acts.hasty) return <Loading paragraph={{ rows: 6 }} />;
  return (
    <Suspense fallback={<Loading paragraph={{ rows: 6 }} />}>
      <RequestDetail key={openId} id={openId} onDecided={decided} keepsFocus={acts.walking} />
    </Suspense>
  );
}

interface InboxProps {
  openId: string | undefined;
}

/** The requests, and the one that is open beside them; on a phone one or the other. */
export function Inbox({ openId }: InboxProps) {
  const strings = useStrings();
  const narrow = useNarrow();
  const inbox = useInbox(openId);
  const acts = useActs(inbox);
  const search = useRef<InputRef>(null);
  const { isSuccess } = inbox.list;
  useListKeys(inbox, acts, () => search.current?.focus({ cursor: "all" }));
  useReturn(inbox, narrow);
  const isIdle = useIdle(isSuccess);
  useEffect(() => {
    if (isIdle) loadDetail().catch(() => undefined);
  }, [isIdle]);
  return (
    <div className="inbox">
      {!(narrow && openId !== undefined) && <RequestList inbox={inbox} acts={acts} search={search} isIdle={isIdle} />}
      {!(narrow && openId === undefined) && (
        <div className="inbox-detail detail-side">
          {narrow && (
            <a href={`${base}/`} className="inbox-back" data-testid="back" onClick={(event) => { event.preventDefault(); close(); }}>← {strings.back}</a>
          )}
          <Detail inbox={inbox} acts={acts} />
        </div>
      )}
    </div>
  );
}
