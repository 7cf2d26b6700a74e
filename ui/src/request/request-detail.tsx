import { Alert, Empty } from "antd";
import { useEffect, useId, useRef, useState, type RefObject } from "react";
import { isStatus } from "../api/call";
import { useRequest } from "../api/requests";
import type { Decision, Request } from "../api/types";
import { Problem } from "../widgets/problem";
import { Link } from "../widgets/router";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { AgentWords } from "./agent-words";
import { Deliveries } from "./deliveries";
import { hasAnswer } from "./draft";
import { dropDraft } from "./draft-store";
import { ErasedNote } from "./erased";
import { Facts } from "./facts";
import { FoldedFacts } from "./folded-facts";
import { Heading } from "./heading";
import { History } from "./history";
import { Kept } from "./kept";
import { OpenRequest } from "./open-request";
import { Record } from "./record";
import { isBare } from "./title";
import { useOwner } from "./use-desk";
import { useWords } from "./words";
import "./request.css";

interface PlaceProps {
  onDecided?: (completed: Request) => void;
  inThread?: boolean;
  /** The decision whose step is open at once. */
  begins?: Decision | undefined;
  /** What it would do is shown in other words beside it. */
  foldsFacts?: boolean | undefined;
  /** Leave the focus where it is: somebody walks through the list with the arrows. */
  keepsFocus?: boolean;
}

function Closed({ request, inThread }: { request: Request; inThread: boolean }) {
  if (isBare(request)) return <Record request={request} />;
  return (
    <>
      {/* In a thread's column an answered question takes a line. */}
      {(!inThread || request.action) && <FoldedFacts request={request} folded={inThread}><Facts request={request} /></FoldedFacts>}
      {!inThread && <AgentWords request={request} />}
      <Record request={request} />
    </>
  );
}

/** Nobody needs what they have sent, also when they were elsewhere by the time the server agreed. */
function useDropSent(request: Request): () => void {
  const { tenant, name } = useOwner();
  const mine = request.response?.responder === name;
  useEffect(() => {
    if (mine) dropDraft({ tenant, name }, request);
  }, [mine, tenant, name, request]);
  return () => dropDraft({ tenant, name }, request);
}

function useFocusWithin(area: RefObject<HTMLElement | null>): boolean {
  const [within, setWithin] = useState(false);
  useEffect(() => {
    const look = () => setWithin(area.current?.contains(document.activeElement) ?? false);
    document.addEventListener("focusin", look);
    return () => document.removeEventListener("focusin", look);
  }, [area]);
  return within;
}

/** Only to be filled in: the hands begin there. Where a call waits for consent the eyes begin at what it does. */
function isAnswerOnly(request: Request): boolean {
  return hasAnswer(request) && !request.action && window.matchMedia("(pointer: fine)").matches;
}

interface PanelProps extends PlaceProps {
  request: Request;
  onGone: (names: string) => void;
}

function Panel({ request, onDecided, onGone, begins, foldsFacts = false, inThread = false, keepsFocus = false }: PanelProps) {
  const strings = useWords();
  // What ended before it was opened, or was decided right here, is a record; what ends elsewhere stays open but dead.
  const [open, setOpen] = useState(request.status === "pending");
  const [beginsInFields] = useState(!inThread && !keepsFocus && open && isAnswerOnly(request));
  const titleId = useId();
  const area = useRef<HTMLElement>(null);
  const focused = useFocusWithin(area);
  const drop = useDropSent(request);
  const decided = (completed: Request) => {
    drop();
    setOpen(false);
    onDecided?.(completed);
  };
  return (
    <article
      className="detail" data-testid="request-detail" data-id={request.id} data-status={request.status}
      ref={area} tabIndex={-1} aria-labelledby={titleId}
    >
      <Heading
        id={titleId} request={request} focus={!inThread && !keepsFocus && !beginsInFields} threadLink={!inThread}
      />
      <ErasedNote request={request} />
      {request.attention && (
        <Alert type="warning" showIcon title={strings.attention} description={visible(request.attention)} />
      )}
      {open && !isBare(request)
        ? (
          <OpenRequest
            request={request} onDecided={decided} onGone={onGone} active={!inThread || focused} beginsInFields={beginsInFields} begins={begins}
            foldsFacts={foldsFacts}
          />
        )
        : <Closed request={request} inThread={inThread} />}
      {!request.erased && <Kept id={request.id} shown={open ? request : undefined} />}
      {!inThread && <Deliveries request={request} />}
      {!inThread && <History request={request} />}
    </article>
  );
}

/** A request that is not here for this person, or not any more; what they typed about it still is. */
function Gone({ id, title, more }: { id: string; title: string; more?: string }) {
  const strings = useWords();
  return (
    <article className="detail" data-testid="gone">
      <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={<><p>{title}</p>{more && <p>{more}</p>}</>}>
        <Link to="/">{strings.toInbox}</Link>
      </Empty>
      <Kept id={id} />
    </article>
  );
}

/** One request by its id, in the inbox or in its thread. */
export function RequestDetail({ id, ...place }: PlaceProps & { id: string }) {
  const strings = useWords();
  const { data, error, refetch } = useRequest(id);
  const [passedTo, setPassedTo] = useState<string | null>(null);
  if (passedTo !== null) return <Gone id={id} title={strings.passedOn(passedTo)} more={strings.passedOnAway} />;
  if (data) return <Panel key={`${id} ${data.digest}`} request={data} onGone={setPassedTo} {...place} />;
  if (isStatus(error, 404)) return <Gone id={id} title={strings.gone} />;
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  return <Loading paragraph={{ rows: 6 }} />;
}
