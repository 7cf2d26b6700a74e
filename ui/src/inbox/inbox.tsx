import { Empty, type InputRef } from "antd";
import { Suspense, useEffect, useState, useEffectEvent, useRef } from "react";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { lazyWithRetry, useNarrow } from "../base/browser";
import { basePath } from "../base/router";
import { ownPart, waitsFor } from "../request/assignment";
import { outcomeOf, titleOf } from "../request/outcome";
import { useStrings } from "../strings";
import { Hints, useHintOnce, useHints } from "../widgets/hints";
import { Loading } from "../widgets/loading";
import { useMessages } from "../widgets/messages";
import type { BulkDecision } from "./bulk";
import type { InboxRow } from "./flood";
import { closeRequest } from "./inbox-url";
import { RequestList } from "./request-list";
import { nextPending } from "./stable-rows";
import { type InboxState, useInbox, useListActions, useListKeys, type ListActions } from "./use-inbox";
import "./inbox.css";

const Notices = lazyWithRetry(() => import("./held-notices"));

/** The person's held answers to requests that are not open, over the page. */
function HeldNotices({ requests }: { requests: Request[] }) {
  const me = useSession().data?.name;
  const held = requests.filter((request) => ownPart(request, me) === "held");
  return held.length > 0 && <Suspense fallback={null}><Notices requests={held} /></Suspense>;
}

/** Return whether the list is rendered and the browser is idle, so that more code can be loaded. */
function useIdle(isShown: boolean): boolean {
  const [isIdle, setIdle] = useState(false);
  useEffect(() => {
    if (!isShown) return;
    const rest = () => setIdle(true);
    if ("requestIdleCallback" in window) requestIdleCallback(rest, { timeout: 2_000 });
    else setTimeout(rest, 500);
  }, [isShown]);
  return isIdle;
}

/** The requests that are equal to the open one, and whether a decision on it answers them too. */
function useEqual({ view, openId, bulk, refusalOf }: InboxState) {
  const [single, setSingle] = useState<string>();
  const row = view.rows.find(({ request, bundle }) => bundle === "equal" && request.id === openId);
  const others = row?.others ?? [];
  const answersAll = openId !== undefined && single !== openId;
  return {
    count: others.length + 1,
    answersAll,
    setAnswersAll: (isAll: boolean) => setSingle(isAll ? undefined : openId),
    /** Give the decision on the open request to the others, each with its own digest. An edit concerns only one. */
    answerOthers: ({ status, response }: Request) => {
      if (!answersAll || others.length === 0 || status !== "completed" || !response) return;
      const { decision } = response;
      if (decision !== "approve" && decision !== "reject") return;
      void bulk.decide(others.filter((request) => refusalOf(request, decision satisfies BulkDecision) === null), decision, response.message ?? "");
    },
  };
}

const loadDetail = () => import("../request/request-detail");
const EqualAlert = lazyWithRetry(() => import("./equal-alert"));
const RequestDetail = lazyWithRetry(() => loadDetail().then((module) => ({ default: module.RequestDetail })));

/** Show the outcome, remove the request from the list and open the next one. */
function useAfterDecision({ view, openId }: InboxState, actions: ListActions) {
  const strings = useStrings();
  const message = useMessages();
  const session = useSession().data;
  const [, removeHint] = useHints();
  const decidedBefore = useRef<Request>(undefined);
  const openNext = (completed: Request) => {
    const next = nextPending(view.rows, completed, (request) => waitsFor(request, session));
    if (!next) view.showNew();
    // Remove it even if the list has not received its end yet.
    if (completed.status !== "pending") view.dropFinished(completed.id);
    const following = next ?? view.newRequests.find((request) => request.id !== completed.id && waitsFor(request, session));
    if (following) actions.open(following.id);
  };
  const listed = useEffectEvent(() => {
    const completed = decidedBefore.current;
    decidedBefore.current = undefined;
    if (completed && completed.id === openId) openNext(completed);
  });
  const isListed = view.listed !== undefined;
  useEffect(() => {
    if (isListed) listed();
  }, [isListed]);
  return (completed: Request) => {
    removeHint("answer");
    const outcome = completed.status === "pending" ? strings.ownVote : (outcomeOf(completed, null, strings) ?? "");
    // Reuse one message for many decisions in a row. A held answer has its own notice.
    if (!completed.held) void message.success({ content: strings.decisionSaved(outcome, titleOf(completed, strings)), key: "decided" });
    // The list that says what comes next may still be on its way.
    if (isListed) openNext(completed);
    else decidedBefore.current = completed;
  };
}

/** Focus a request's row when the person returns to the list; on a phone, also show new requests. */
function useFocusOnReturn({ openId, cursor, view }: InboxState, narrow: boolean): void {
  const before = useRef(openId);
  const returned = useEffectEvent((id: string) => {
    if (narrow) view.showNew();
    cursor.focus(id);
  });
  useEffect(() => {
    if (before.current !== undefined && openId === undefined) returned(before.current);
    before.current = openId;
  }, [openId]);
}

/** Open the bundle of a request that a link opened, so that its like follow it. */
function useOpenBundle({ openId, view }: InboxState): void {
  const row = view.rows.find(({ bundle, others }) => bundle === "tool" && others.some(({ id }) => id === openId));
  const found = useEffectEvent((bundle: InboxRow) => view.openBundle(bundle));
  useEffect(() => {
    if (row) found(row);
  }, [row]);
}

function Detail({ inbox, actions }: { inbox: InboxState; actions: ListActions }) {
  const strings = useStrings();
  const showNext = useAfterDecision(inbox, actions);
  const equal = useEqual(inbox);
  const decided = (completed: Request) => {
    equal.answerOthers(completed);
    showNext(completed);
  };
  const { openId, view } = inbox;
  if (openId === undefined) {
    return view.rows.length > 0 && (
      <>
        <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.noRequestOpen} className="inbox-placeholder" />
        <Hints />
      </>
    );
  }
  if (actions.isSkimming) return <Loading paragraph={{ rows: 6 }} />;
  return (
    <Suspense fallback={<Loading paragraph={{ rows: 6 }} />}>
      {equal.count > 1 && <EqualAlert count={equal.count} answersAll={equal.answersAll} onChange={equal.setAnswersAll} />}
      <RequestDetail key={openId} id={openId} onDecided={decided} keepsFocus={actions.isNavigating} />
    </Suspense>
  );
}

interface InboxProps {
  openId: string | undefined;
}

/** The list of requests beside the open one; on a phone one or the other. */
export function Inbox({ openId }: InboxProps) {
  const strings = useStrings();
  const narrow = useNarrow();
  const inbox = useInbox(openId);
  const actions = useListActions(inbox);
  const search = useRef<InputRef>(null);
  const { isSuccess } = inbox.list;
  useListKeys(inbox, actions, () => search.current?.focus({ cursor: "all" }));
  useFocusOnReturn(inbox, narrow);
  useOpenBundle(inbox);
  useHintOnce("open", openId !== undefined);
  const isIdle = useIdle(isSuccess);
  useEffect(() => {
    if (isIdle) loadDetail().catch(() => undefined);
  }, [isIdle]);
  return (
    <div className="inbox">
      {!(narrow && openId !== undefined) && <RequestList inbox={inbox} actions={actions} search={search} isIdle={isIdle} />}
      {narrow && openId === undefined && <Hints />}
      {!(narrow && openId === undefined) && (
        <div className="inbox-detail detail-side">
          {narrow && (
            <a href={`${basePath}/`} className="inbox-back" data-testid="back" onClick={(event) => { event.preventDefault(); closeRequest(); }}>← {strings.back}</a>
          )}
          <Detail inbox={inbox} actions={actions} />
        </div>
      )}
      <HeldNotices requests={inbox.view.rows.map(({ request }) => request).filter(({ id }) => id !== openId)} />
    </div>
  );
}
