import { Button } from "antd";
import { useState } from "react";
import { later } from "../widgets/later";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { ConfirmClear } from "./confirm-clear";
import type { Assistant } from "./use-assistant";
import { showPlan } from "./use-assistant";
import type { AssistantAction, Fix, Reason } from "./types";
import { useAssistantWords } from "./words";
import "./assistant.css";

const Inspector = later(() => import("./inspector").then((module) => ({ default: module.Inspector })));

/** What each way on is called at the server; to wait there is nothing to press. */
const verbs: Record<Fix["kind"], ((ref: string) => string) | undefined> = {
  ask: (ref) => `ask:${ref}`, run_handler: (ref) => `refresh:${ref}`, run_action: (ref) => ref, reapprove: (ref) => `unchanged:${ref}`, approve: undefined, wait: undefined,
};

const isForPeople = ({ fix }: Reason) => fix?.kind === "ask" || fix?.kind === "approve";
/** What only a person can do stands first: the rest comes by itself, or by a press. */
const peopleFirst = (one: Reason, other: Reason) => Number(isForPeople(other)) - Number(isForPeople(one));

interface Doing {
  assistant: Assistant;
  /** Do an action by its id: at once, or where it needs more. */
  act: (id: string) => void;
}

/** The plan that an action would carry out, where somebody is to approve it. */
function planOf({ memory, approvals }: Assistant, action: AssistantAction | undefined) {
  if (action?.type !== "apply") return undefined;
  const request = approvals.find(({ action: call }) => call?.name === action.workflowName);
  const waiting = (memory?.plans ?? []).filter((plan) => plan.request !== null || plan.status === "planned");
  return waiting.find(({ id }) => id === request?.context.plan) ?? (waiting.length === 1 ? waiting[0] : undefined);
}

/** What there really is to press: an action that is not possible itself is reached by its own way on. */
function wayOn(fix: Fix, actions: AssistantAction[], seen: string[] = []): Fix | undefined {
  const action = fix.kind === "run_action" ? actions.find(({ id }) => id === fix.ref) : undefined;
  if (!action || action.enabled) return fix;
  const [first] = action.reasons.toSorted(peopleFirst);
  return first && !seen.includes(fix.ref) ? wayOn(first.fix, actions, [...seen, fix.ref]) : undefined;
}

function FixButton({ reason: { fix: named, text }, assistant, act }: Doing & { reason: Reason }) {
  const fix = named && wayOn(named, assistant.actions);
  if (!fix?.ref) return null;
  const { ref } = fix;
  if (fix.kind === "wait") return <span className="quiet action-waits" data-testid="fix" data-kind="wait"><span className="working-dot" aria-hidden="true" /> {visible(fix.label)}</span>;
  const verb = verbs[fix.kind]?.(ref);
  const run = () => {
    if (verb === undefined || fix.kind === "run_action") act(ref);
    else assistant.press(verb);
  };
  return (
    <Button
      size="small" disabled={assistant.pressed !== undefined} loading={verb !== undefined && assistant.pressed === verb} onClick={run}
      data-testid="fix" data-kind={fix.kind} aria-label={`${visible(fix.label)}: ${visible(text)}`}
    >
      {visible(fix.label)}
    </Button>
  );
}

function ReasonLine({ reason, met, ...doing }: Doing & { reason: Reason; met?: string }) {
  return (
    <div className="action-reason" data-testid="reason" data-code={reason.code}>
      <span>{visible(reason.text)}{met && ` (${met})`}</span> <FixButton reason={reason} {...doing} />
    </div>
  );
}

/** Why an action cannot be done: the first reason with its way on, and the others behind a fold. */
function Reasons({ action, ...doing }: Doing & { action: AssistantAction }) {
  const words = useAssistantWords();
  const { have, need } = action;
  const [first, ...others] = action.reasons.toSorted(peopleFirst);
  if (!first) return null;
  return (
    <>
      <ReasonLine reason={first} met={have < need ? words.needsMet(have, need) : ""} {...doing} />
      {others.length > 0 && (
        <details className="action-more">
          <summary>{words.moreReasons(others.length)}</summary>
          {others.map((reason) => <ReasonLine key={`${reason.code} ${reason.key}`} reason={reason} {...doing} />)}
        </details>
      )}
    </>
  );
}

/** One action, in its place whether it can be done or not. */
function Action({ action, primary, ...doing }: Doing & { action: AssistantAction; primary: boolean }) {
  const { assistant, act } = doing;
  const words = useAssistantWords();
  const { id, type, label, description } = action;
  const isNothingToClear = type === "cancel" && !assistant.isBegun;
  const enabled = action.enabled && !isNothingToClear;
  return (
    <li className="action" data-testid="action" data-id={id} data-enabled={enabled}>
      <Button
        block type={primary ? "primary" : "default"} title={visible(description)} danger={type === "cancel"} disabled={!enabled || assistant.pressed !== undefined}
        loading={assistant.pressed === id} onClick={() => act(id)} aria-describedby={`why-${id}`} data-testid="do-action"
        >
        {visible(label)}
      </Button>
      <div id={`why-${id}`} className="action-why">
        {isNothingToClear ? <span data-testid="reason">{words.nothingBegun}</span> : !enabled && <Reasons action={action} {...doing} />}
      </div>
    </li>
  );
}

/** Below the chat: what can be done now, and of the rest what it waits for. */
export function ActionBar({ assistant, id }: { assistant: Assistant; id: string }) {
  const words = useAssistantWords();
  const [clearing, setClearing] = useState(false);
  const [inspecting, setInspecting] = useState<"closed" | "open" | "never">("never");
  const act = (wanted: string) => {
    const action = assistant.actions.find((one) => one.id === wanted);
    if (action?.type === "cancel") return setClearing(true);
    const plan = planOf(assistant, action);
    // Consent is given where what it is given to stands.
    if (plan) return showPlan(plan);
    return assistant.press(wanted);
  };
  // Of all that can be done now the last of the way is the one to press.
  const primary = assistant.actions.findLast(({ enabled, type }) => enabled && (type === "plan" || type === "apply"))?.id;
  return (
    <section className="actions" aria-label={words.actions} data-testid="actions">
      <Problem error={assistant.refusal} title={words.actionRefused} closable={{ onClose: assistant.dismiss, "aria-label": words.closeMemory }} />
      {clearing && <ConfirmClear id={id} onBack={() => setClearing(false)} />}
      <ul tabIndex={-1}>
        {assistant.actions.map((action) => <Action key={action.id} action={action} primary={action.id === primary} assistant={assistant} act={act} />)}
        <li className="action action-memory">
          <Button block type="dashed" onClick={() => setInspecting("open")} data-testid="open-memory">{words.openMemory}</Button>
        </li>
      </ul>
      {inspecting !== "never" && (
        <Inspector id={id} assistant={assistant} open={inspecting === "open"} onClose={() => setInspecting("closed")} />
      )}
    </section>
  );
}
