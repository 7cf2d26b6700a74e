import { useIsMutating } from "@tanstack/react-query";
import { Button, Empty, Alert } from "antd";
import { useEffect, useState, type RefObject, useId, useRef, type ReactNode } from "react";
import { isStatus } from "../api/call";
import { usePausesOf } from "../api/pauses";
import { useRequest } from "../api/requests";
import { useSession } from "../api/session";
import type { Request, Vote, Decision } from "../api/types";
import { Link } from "../base/router";
import { visible } from "../base/visible";
import { PauseAlerts } from "../pauses/pause-alerts";
import { reasonText } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { ExpansionProvider } from "../values/expansion";
import { AgentText } from "../widgets/agent-text";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { AgentContext } from "./agent-context";
import { ownVote, ownPart } from "./assignment";
import { CollapsibleFacts } from "./collapsible-facts";
import { DecisionForm } from "./decision-form";
import { DecisionRecord } from "./decision-record";
import { hasAnswer } from "./decisions";
import { Deliveries } from "./deliveries";
import { dropDraft, useOwner, dropAllDrafts, removeDraft, unsentDrafts } from "./draft";
import { ErasureNote } from "./erasure-note";
import { Facts } from "./facts";
import { RequestHeader } from "./heading";
import { HeldAnswer } from "./held-answer";
import { History } from "./history";
import { isFullyErased } from "./outcome";
import { TakeBack } from "./take-back";
import { Votes } from "./votes";
import "./request.css";

/** Return whether the focus is within an element. */
function useFocusWithin(area: RefObject<HTMLElement | null>): boolean {
  const [within, setWithin] = useState(false);
  useEffect(() => {
    const look = () => setWithin(area.current?.contains(document.activeElement) ?? false);
    document.addEventListener("focusin", look);
    return () => document.removeEventListener("focusin", look);
  }, [area]);
  return within;
}

interface OwnVoteProps {
  request: Request;
  vote: Vote;
  onChange: () => void;
}

/** The footer of a request on which this person has voted. */
function OwnVote({ request, vote, onChange }: OwnVoteProps) {
  const { voting } = useRequestStrings();
  const count = (request.missing ?? []).reduce((sum, stage) => sum + (stage.count ?? 1), 0);
  return (
    <div className="button-bar">
      <output data-testid="own-vote">{voting.own[vote.decision]} {count > 0 && voting.missing(count)}</output>
      <Button onClick={onChange} data-testid="change-vote">{voting.changeVote}</Button>
    </div>
  );
}

interface AnsweredRequestProps {
  request: Request;
  isInThread: boolean;
  /** True if this request handles the keys. */
  isActive: boolean;
  /** Show the form again. */
  onReopen: () => void;
}

/** A pending request that this person has answered or voted on. */
function AnsweredRequest({ request, isInThread, isActive, onReopen }: AnsweredRequestProps) {
  const me = useSession().data?.name;
  const vote = ownVote(request, me);
  return (
    <div className="decision-form">
      <CollapsibleFacts request={request} isCollapsed={isInThread}><Facts request={request} /></CollapsibleFacts>
      {!isInThread && <AgentContext request={request} />}
      <Votes request={request} />
      <footer className="decide" data-testid="decide">
        {request.held?.responder === me
          ? <HeldAnswer request={request} isActive={isActive} onUndone={onReopen} />
          : vote && <OwnVote request={request} vote={vote} onChange={onReopen} />}
      </footer>
    </div>
  );
}

interface RequestDetailOptions {
  onDecided?: (completed: Request) => void;
  isInThread?: boolean;
  /** The decision whose step opens at once. */
  initialDecision?: Decision | undefined;
  /** Collapse the facts, because they are shown in other words beside the request. */
  collapsesFacts?: boolean | undefined;
  /** Leave the focus where it is while somebody moves through the list with the arrow keys. */
  keepsFocus?: boolean;
}

function ClosedRequest({ request, isInThread }: { request: Request; isInThread: boolean }) {
  if (isFullyErased(request)) return <DecisionRecord request={request} />;
  return (
    <>
      {/* In a thread an answered question takes one line. */}
      {(!isInThread || request.action) && <CollapsibleFacts request={request} isCollapsed={isInThread}><Facts request={request} /></CollapsibleFacts>}
      {!isInThread && <AgentContext request={request} />}
      {!isInThread && <Votes request={request} />}
      <DecisionRecord request={request} />
    </>
  );
}

/** Remove a draft once it was sent, even if the person had left the page by then. */
function useDropSentDraft(request: Request): () => void {
  const { tenant, name } = useOwner();
  const mine = request.response?.responder === name;
  useEffect(() => {
    if (mine) dropDraft({ tenant, name }, request);
  }, [mine, tenant, name, request]);
  return () => dropDraft({ tenant, name }, request);
}

/** Return whether the request only needs an answer, so that the first field gets the focus. Where an action waits for approval, the facts come first. */
function isAnswerOnly(request: Request): boolean {
  return hasAnswer(request) && !request.action && window.matchMedia("(pointer: fine)").matches;
}

interface PanelProps extends RequestDetailOptions {
  request: Request;
  onReassigned: (names: string) => void;
}

function Panel({ request, onDecided, onReassigned, initialDecision, collapsesFacts = false, isInThread = false, keepsFocus = false }: PanelProps) {
  // A request that ended before it was opened, or was decided here, is shown as a record. One that ends elsewhere keeps its form.
  const part = ownPart(request, useSession().data?.name);
  const [open, setOpen] = useState(request.status === "pending" && part === null);
  // The feed may be faster than the reply, which the form waits for.
  const isSending = useIsMutating({ mutationKey: ["respond", request.id] }) > 0;
  const isAnswered = part !== null && !isSending && !(part === "voted" && open);
  const showsForm = request.status === "pending" ? !isAnswered : open;
  const [focusesFields] = useState(!isInThread && !keepsFocus && open && isAnswerOnly(request));
  const titleId = useId();
  const area = useRef<HTMLElement>(null);
  const focused = useFocusWithin(area);
  const drop = useDropSentDraft(request);
  const decided = (completed: Request) => {
    // What a person typed comes back with the form if they undo the answer.
    if (!completed.held) drop();
    setOpen(false);
    onDecided?.(completed);
  };
  return (
    <article
      className="detail" data-testid="request-detail" data-id={request.id} data-status={request.status}
      ref={area} tabIndex={-1} aria-labelledby={titleId}
    >
      <RequestHeader
        id={titleId} request={request} focus={!isInThread && !keepsFocus && !focusesFields} threadLink={!isInThread}
      />
      <RequestErasureNote request={request} />
      {!isInThread && request.status === "pending" && <RequestPauses request={request} />}
      <RequestWarnings request={request} />
      {request.status === "pending" && isAnswered && (
        <AnsweredRequest request={request} isInThread={isInThread} isActive={!isInThread || focused} onReopen={() => setOpen(true)} />
      )}
      {showsForm && !isFullyErased(request)
        ? (
          <DecisionForm
            request={request} onDecided={decided} onReassigned={onReassigned} isActive={!isInThread || focused} focusesFields={focusesFields} initialDecision={initialDecision}
            collapsesFacts={collapsesFacts}
          />
        )
        : request.status !== "pending" && <ClosedRequest request={request} isInThread={isInThread} />}
      {!request.erased && <UnsentDrafts id={request.id} current={request.status === "pending" || open ? request : undefined} />}
      {!isInThread && <Deliveries request={request} />}
      {!isInThread && <History request={request} />}
    </article>
  );
}

/** A request that this person cannot see, with the text that they typed about it. */
function UnavailableRequest({ id, title, more }: { id: string; title: string; more?: ReactNode }) {
  const strings = useRequestStrings();
  return (
    <article className="detail" data-testid="unavailable">
      <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={<><p>{title}</p>{more && <p>{more}</p>}</>}>
        <Link to="/">{strings.goToInbox}</Link>
      </Empty>
      <UnsentDrafts id={id} />
    </article>
  );
}

/** Warn that nobody here can answer a request, and of what a person should look at. */
function RequestWarnings({ request: { attention, status, unanswerable } }: { request: Request }) {
  const strings = useRequestStrings();
  return (
    <>
      {unanswerable && status === "pending" && (
        <Alert type="warning" showIcon title={strings.unanswerable} description={strings.unanswerableWhy} data-testid="unanswerable" />
      )}
      {attention && <Alert type="warning" showIcon title={strings.attention} description={visible(reasonText(attention, strings))} />}
    </>
  );
}

/** Show when, by whom and by which rule a request was erased, and remove its local drafts. */
function RequestErasureNote({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { tenant, name } = useOwner();
  const { id, erased } = request;
  const isErased = Boolean(erased);
  useEffect(() => {
    if (isErased) dropAllDrafts({ tenant, name }, id);
  }, [isErased, tenant, name, id]);
  if (!erased) return null;
  return <ErasureNote erased={erased} rule={erased.rule} remains={strings.requestErasureNote} />;
}

interface UnsentDraftsProps {
  id: string;
  /** The request whose draft fills the form now; drafts of other versions can only be copied. */
  current?: Request | undefined;
}

/** Drafts that were never sent, to copy or to discard. */
function UnsentDrafts({ id, current }: UnsentDraftsProps) {
  const strings = useRequestStrings();
  const owner = useOwner();
  const [, refresh] = useState(0);
  const copies = "clipboard" in navigator;
  return unsentDrafts(owner, id, current).map(({ key, text }) => (
    <Alert
      key={key} type="info" data-testid="unsent-draft"
      title={(
        <div className="text-lines">
          <strong>{current ? strings.savedTextHint : strings.savedTextTitle}</strong>
          <AgentText text={text} />
        </div>
      )}
      action={(
        <div className="button-bar">
          {copies && (
            <Button size="small" onClick={() => void navigator.clipboard.writeText(text)}>{strings.copy}</Button>
          )}
          <Button
            size="small" type="text" data-testid="discard-draft"
            onClick={() => {
              removeDraft(key);
              refresh((count) => count + 1);
            }}
          >
            {strings.discard}
          </Button>
        </div>
      )}
    />
  ));
}

/** The pauses that stop the agent of a request. */
function RequestPauses({ request }: { request: Request }) {
  return <PauseAlerts pauses={usePausesOf(request)} />;
}

/** One request by its id, in the inbox or in its thread. */
export function RequestDetail({ id, ...place }: RequestDetailOptions & { id: string }) {
  const strings = useRequestStrings();
  const { data, error, refetch } = useRequest(id);
  const [reassignedTo, setReassignedTo] = useState<string | null>(null);
  if (reassignedTo !== null) {
    const more = <>{strings.noLongerVisible} <TakeBack id={id} onDone={() => setReassignedTo(null)} /></>;
    return <UnavailableRequest id={id} title={strings.reassignedTo(reassignedTo)} more={more} />;
  }
  if (data) return <ExpansionProvider key={`${id} ${data.digest}`}><Panel request={data} onReassigned={setReassignedTo} {...place} /></ExpansionProvider>;
  if (isStatus(error, 404)) return <UnavailableRequest id={id} title={strings.requestNotVisible} />;
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  return <Loading paragraph={{ rows: 6 }} />;
}
