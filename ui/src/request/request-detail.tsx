import { useIsMutating } from "@tanstack/react-query";
import { Empty } from "antd";
import { useEffect, useId, useRef, useState, type ReactNode } from "react";
import { isStatus } from "../api/call";
import { useRequest } from "../api/requests";
import { useSession } from "../api/session";
import type { Decision, Request } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { ExpansionProvider } from "../values/expansion";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { Link } from "../base/router";
import { AgentContext } from "./agent-context";
import { AnsweredRequest } from "./answered-request";
import { DecisionForm } from "./decision-form";
import { DecisionRecord } from "./decision-record";
import { hasAnswer } from "./decisions";
import { RequestPauses } from "../pauses/pause-alerts";
import { dropDraft, useOwner } from "./draft-store";
import { CollapsibleFacts, Facts } from "./facts";
import { RequestHeader } from "./heading";
import { Deliveries, History } from "./history";
import { RequestErasureNote, RequestWarnings, UnsentDrafts } from "./notices";
import { isFullyErased } from "./outcome";
import { TakeBack } from "./take-back";
import { useFocusWithin } from "./use-focus-within";
import { Votes } from "./votes";
import { ownPart } from "./voting";
import "./request.css";

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
