import { Alert, Button } from "antd";
import { useEffect, useState } from "react";
import { ProblemError } from "../api/call";
import { providerAddress, useProvider } from "../api/session";
import type { Absence, Erased, Request } from "../api/types";
import { problemText, reasonText } from "../strings/catalogue";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { detailOf } from "../widgets/problem";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";
import { actorName } from "../widgets/names";
import { dropAllDrafts, removeDraft, unsentDrafts, useOwner } from "./draft-store";

/** Statuses that the text of their code explains fully; for others English has the server's detail too. */
const selfExplanatory = new Set([0, 401, 404, 409, 429, 503]);

function messageOf(error: Error, claimant: string | null, strings: RequestStrings): string {
  if (!(error instanceof ProblemError)) return strings.texts.decision.failed;
  if (error.code === "claimed" && claimant) return strings.texts.problems.claimed_by.replace("{name}", () => visible(claimant));
  return visible(problemText(error, strings, true));
}

interface RefusalAlertProps {
  error: Error | null;
  retry: (() => void) | null;
  claimant?: string | null;
}

/** A link to the provider, which leads back to this page; nothing if people sign in with tokens. */
function SignInAgain() {
  const strings = useRequestStrings();
  return useProvider() && <Button size="small" href={providerAddress(true)} data-testid="sign-in-again">{strings.signInWithProvider}</Button>;
}

/** The reason of a refusal, with a retry button where a retry makes sense. */
export function RefusalAlert({ error, retry, claimant = null }: RefusalAlertProps) {
  const strings = useRequestStrings();
  if (!error) return null;
  const isProblem = error instanceof ProblemError;
  const isPlain = isProblem && selfExplanatory.has(error.status);
  const isWorthRetry = !isProblem || error.status === 0 || error.status === 429 || error.status >= 500;
  return (
    <Alert
      type="error" showIcon data-testid="error" role="alert"
      title={messageOf(error, claimant, strings)}
      description={isPlain ? undefined : detailOf(error, strings)}
      action={isProblem && error.code === "fresh_sign_in" ? <SignInAgain /> : retry && isWorthRetry && (
        <Button size="small" onClick={retry} data-testid="retry">{strings.retry}</Button>
      )}
    />
  );
}

/** Tell a deputy for whom they decide. */
export function DeputyNote({ absence: { person, until } }: { absence: Absence }) {
  const { away, language } = useRequestStrings();
  return <p className="quiet" data-testid="stands-in">{away.standsIn(visible(person), clock(until, language))}</p>;
}

/** Warn that nobody here can answer a request, and of what a person should look at. */
export function RequestWarnings({ request: { attention, status, unanswerable } }: { request: Request }) {
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
export function RequestErasureNote({ request }: { request: Request }) {
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

/** Show that a thread's content was erased. An erasure always covers the whole thread. */
export function ThreadErasureNote({ erased }: { erased: Erased }) {
  return <ErasureNote erased={erased} rule={erased.rule === "age" ? "age" : "request"} remains={useRequestStrings().threadErasureNote} />;
}

function ErasureNote({ erased, rule, remains }: { erased: Erased; rule: Erased["rule"]; remains: string }) {
  const strings = useRequestStrings();
  const title = strings.erased[rule](actorName(erased.by, strings), clock(erased.at, strings.language));
  return <Alert type="info" showIcon title={title} description={remains} data-testid="erased" />;
}

interface UnsentDraftsProps {
  id: string;
  /** The request whose draft fills the form now; drafts of other versions can only be copied. */
  current?: Request | undefined;
}

/** Drafts that were never sent, to copy or to discard. */
export function UnsentDrafts({ id, current }: UnsentDraftsProps) {
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
