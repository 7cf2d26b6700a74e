import { Button } from "antd";
import { useState } from "react";
import { lazyWithRetry } from "../../base/browser";
import { Problem } from "../../widgets/problem";
import { visible } from "../../base/visible";
import { ConfirmClear } from "./confirm-clear";
import { type Assistant, showPlan } from "./use-assistant";
import type { AssistantAction, Fix, Reason } from "./api";
import { useAssistantStrings } from "./strings";
import "./assistant.css";

const Inspector = lazyWithRetry(() => import("./inspector").then((module) => ({ default: module.Inspector })));

/** The server's command for each kind of fix; `wait` and `approve` have none. */
const commandByFix: Record<Fix["kind"], ((ref: string) => string) | undefined> = {
  ask: (ref) => `ask:${ref}`, run_handler: (ref) => `refresh:${ref}`, run_action: (ref) => ref, reapprove: (ref) => `unchanged:${ref}`, approve: undefined, wait: undefined,
};

const isForPeople = ({ fix }: Reason) => fix?.kind === "ask" || fix?.kind === "approve";
/** Fixes that only a person can do come first. */
const peopleFirst = (one: Reason, other: Reason) => Number(isForPeople(other)) - Number(isForPeople(one));

interface ActionProps {
  assistant: Assistant;
  /** Run an action by its id, or show the panel that it needs first. */
  act: (id: string) => void;
}

/** Return the plan that an action would apply, if it waits for approval. */
function planOf({ memory, approvals }: Assistant, action: AssistantAction | undefined) {
  if (action?.type !== "apply") return undefined;
  const request = approvals.find(({ action: call }) => call?.name === action.workflowName);
  const waiting = (memory?.plans ?? []).filter((plan) => plan.request !== null || plan.status === "planned");
  return waiting.find(({ id }) => id === request?.context.plan) ?? (waiting.length === 1 ? waiting[0] : undefined);
}

/** Return the fix that is possible now: for a disabled action, that of its first reason. */
function possibleFix(fix: Fix, actions: AssistantAction[], seen: string[] = []): Fix | undefined {
  const action = fix.kind === "run_action" ? actions.find(({ id }) => id === fix.ref) : undefined;
  if (!action || action.enabled) return fix;
  const [first] = action.reasons.toSorted(peopleFirst);
  return first && !seen.includes(fix.ref) ? possibleFix(first.fix, actions, [...seen, fix.ref]) : undefined;
}

function FixButton({ reason: { fix: named, text }, assistant, act }: ActionProps & { reason: Reason }) {
  const fix = named && possibleFix(named, assistant.actions);
  if (!fix?.ref) return null;
  const { ref } = fix;
  if (fix.kind === "wait") return <span className="quiet action-waits" data-testid="fix" data-kind="wait"><span className="activity-dot" aria-hidden="true" /> {visible(fix.label)}</span>;
  const command = commandByFix[fix.kind]?.(ref);
  const run = () => {
    if (command === undefined || fix.kind === "run_action") act(ref);
    else assistant.runCommand(command);
  };
  return (
    <Button
      size="small" disabled={assistant.pendingCommand !== undefined} loading={command !== undefined && assistant.pendingCommand === command} onClick={run}
      data-testid="fix" data-kind={fix.kind} aria-label={`${visible(fix.label)}: ${visible(text)}`}
    >
      {visible(fix.label)}
    </Button>
  );
}

function ReasonLine({ reason, met, ...doing }: ActionProps & { reason: Reason; met?: string }) {
  return (
    <div className="action-reason" data-testid="reason" data-code={reason.code}>
      <span>{visible(reason.text)}{met && ` (${met})`}</span> <FixButton reason={reason} {...doing} />
    </div>
  );
}

/** The reasons of a disabled action: the first one with its fix, the others folded. */
function Reasons({ action, ...doing }: ActionProps & { action: AssistantAction }) {
  const strings = useAssistantStrings();
  const { have, need } = action;
  const [first, ...others] = action.reasons.toSorted(peopleFirst);
  if (!first) return null;
  return (
    <>
      <ReasonLine reason={first} met={have < need ? strings.requirementCount(have, need) : ""} {...doing} />
      {others.length > 0 && (
        <details className="action-more">
          <summary>{strings.moreReasons(others.length)}</summary>
          {others.map((reason) => <ReasonLine key={`${reason.code} ${reason.key}`} reason={reason} {...doing} />)}
        </details>
      )}
    </>
  );
}

/** One action. It keeps its place when it is disabled. */
function Action({ action, primary, ...doing }: ActionProps & { action: AssistantAction; primary: boolean }) {
  const { assistant, act } = doing;
  const strings = useAssistantStrings();
  const { id, type, label, description } = action;
  const isNothingToClear = type === "cancel" && !assistant.isStarted;
  const enabled = action.enabled && !isNothingToClear;
  return (
    <li className="action" data-testid="action" data-id={id} data-enabled={enabled}>
      <Button
        block type={primary ? "primary" : "default"} title={visible(description)} danger={type === "cancel"} disabled={!enabled || assistant.pendingCommand !== undefined}
        loading={assistant.pendingCommand === id} onClick={() => act(id)} aria-describedby={`why-${id}`} data-testid="do-action"
        >
        {visible(label)}
      </Button>
      <div id={`why-${id}`} className="action-why">
        {isNothingToClear ? <span data-testid="reason">{strings.emptyConversation}</span> : !enabled && <Reasons action={action} {...doing} />}
      </div>
    </li>
  );
}

/** The actions below the chat: buttons for the possible ones, reasons for the others. */
export function ActionBar({ assistant, id }: { assistant: Assistant; id: string }) {
  const strings = useAssistantStrings();
  const [clearing, setClearing] = useState(false);
  const [inspecting, setInspecting] = useState<"closed" | "open" | "never">("never");
  const act = (actionId: string) => {
    const action = assistant.actions.find((one) => one.id === actionId);
    if (action?.type === "cancel") return setClearing(true);
    const plan = planOf(assistant, action);
    // A plan is approved on its card, where its content is visible.
    if (plan) return showPlan(plan);
    return assistant.runCommand(actionId);
  };
  // The last possible plan or apply action is the primary button.
  const primary = assistant.actions.findLast(({ enabled, type }) => enabled && (type === "plan" || type === "apply"))?.id;
  return (
    <section className="actions" aria-label={strings.actions} data-testid="actions">
      <Problem error={assistant.refusal} title={strings.actionRefused} closable={{ onClose: assistant.dismiss, "aria-label": strings.closeMemory }} />
      {clearing && <ConfirmClear id={id} onBack={() => setClearing(false)} />}
      <ul tabIndex={-1}>
        {assistant.actions.map((action) => <Action key={action.id} action={action} primary={action.id === primary} assistant={assistant} act={act} />)}
        <li className="action">
          <Button block type="dashed" onClick={() => setInspecting("open")} data-testid="open-memory">{strings.openMemory}</Button>
        </li>
      </ul>
      {inspecting !== "never" && (
        <Inspector id={id} assistant={assistant} open={inspecting === "open"} onClose={() => setInspecting("closed")} />
      )}
    </section>
  );
}
