import { Alert, Button, Flex, Segmented, Tag } from "antd";
import { memo, useState } from "react";
import { isEqual, isObject, type Json } from "../../api/types";
import { useRequest } from "../../api/requests";
import { visible } from "../../base/visible";
import { Question } from "../../chat/question";
import { useStrings } from "../../strings";
import { useAssistantStrings, labelOf } from "./strings";
import { FailureReason } from "../../thread/failure-reason";
import { Disclosure } from "../../widgets/disclosure";
import { actorName } from "../../widgets/names";
import { Timestamp } from "../../widgets/timestamp";
import type { Plan, PlanContent, Step, Feedback } from "./api";
import { PlanContentView } from "./plan-content";
import { inLanguage, Value } from "./value";
import { ValueChange } from "./value-change";

/** Tell whether a request's arguments equal the plan, and the card shows all of it. */
function isSame({ plan, steps }: Plan, { plan: requestedPlan, steps: requestedSteps, ...more }: { plan?: Json; steps?: Json }, language: string): boolean {
  const planSteps = steps.map(({ id, title, action, args }) => ({ id, title, action, args }));
  return isEqual(requestedPlan, plan) && isEqual(requestedSteps, planSteps) && Object.keys(more).length === 0 && isEqual(inLanguage(plan, language), plan);
}

interface ApprovalProps {
  plan: Plan;
  id: string;
  edits: boolean;
  onDecided: () => void;
}

/** The approval request of a plan. Its arguments are folded if the card above shows the same content. */
function Approval({ plan, id, edits, onDecided }: ApprovalProps) {
  const { language } = useStrings();
  const { data } = useRequest(id);
  const folds = data?.action ? isSame(plan, data.action.args, language) : false;
  return <Question id={id} initialDecision={edits ? "edit" : undefined} collapsesFacts={folds} onDecided={onDecided} />;
}

interface PlanAlertProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
}

function RequestApprovalButton({ plan, pendingCommand, runCommand }: PlanAlertProps) {
  const { requestApprovalAgain } = useAssistantStrings();
  const command = `unchanged:${plan.actionId}`;
  return <Button type="primary" disabled={pendingCommand !== undefined} loading={pendingCommand === command} onClick={() => runCommand(command)} data-testid="ask-again">{requestApprovalAgain}</Button>;
}

/** The error of a failed plan, with buttons to continue it or to plan again. */
function PlanFailedAlert(props: PlanAlertProps) {
  const strings = useAssistantStrings();
  const { plan, pendingCommand, runCommand } = props;
  const again = `again:${plan.actionId}`;
  const isStopped = plan.approval !== null;
  return (
    <Alert
      type="error" showIcon title={strings.planFailed} data-testid="plan-failed"
      description={(
        <div className="plan-ways">
          <FailureReason why={plan.error ?? ""} />
          {isStopped && <p>{strings.executionStoppedHint}</p>}
          <Flex gap="small" wrap>
            {isStopped && !plan.request && <RequestApprovalButton {...props} />}
            <Button disabled={pendingCommand !== undefined} loading={pendingCommand === again} onClick={() => runCommand(again)} data-testid="plan-again">{strings.replan}</Button>
          </Flex>
        </div>
      )}
    />
  );
}

/** The approval request of a plan was withdrawn; the button sends it again. */
function NoRequestAlert(props: PlanAlertProps) {
  const strings = useAssistantStrings();
  return <Alert type="info" showIcon title={strings.approvalWithdrawn} action={<RequestApprovalButton {...props} />} data-testid="plan-not-asked" />;
}

interface DefaultsProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
}

/** The defaults that a plan is made from, each with a button to tell another value. */
function PlanDefaults({ plan: { defaults }, pendingCommand, runCommand }: DefaultsProps) {
  const strings = useAssistantStrings();
  if (defaults.length === 0) return null;
  return (
    <section aria-label={strings.planDefaults} data-testid="plan-defaults">
      <strong>{strings.planDefaults}</strong>
      <ul className="plan-changes">
        {defaults.map(({ key, title, value }) => (
          <li key={key}>
            <Flex gap="small" align="center" wrap>
              <span>{visible(title || key)}:</span> <Value value={value} />
              <Button
                size="small" disabled={pendingCommand !== undefined} loading={pendingCommand === `ask:${key}`} onClick={() => runCommand(`ask:${key}`)}
                data-testid="change-default" aria-label={`${strings.changeValue}: ${visible(title || key)}`}
              >
                {strings.changeValue}
              </Button>
            </Flex>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface PlanObsoleteAlertProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
  onEdit: () => void;
}

/** The changed inputs of an obsolete plan, with buttons to plan again, approve or edit. */
function PlanObsoleteAlert({ plan, pendingCommand, runCommand, onEdit }: PlanObsoleteAlertProps) {
  const strings = useAssistantStrings();
  const [again, unchanged] = [`again:${plan.actionId}`, `unchanged:${plan.actionId}`];
  const names = plan.changed.map(({ key, title }) => visible(title || key)).join(", ");
  const busy = pendingCommand !== undefined;
  return (
    <Alert
      type="warning" showIcon title={strings.planObsolete} data-testid="plan-obsolete"
      description={(
        <div className="plan-ways">
          {names && <strong data-testid="changed-inputs">{strings.changedInputs(names)}</strong>}
          <Flex gap="small" wrap>
            <Button type="primary" disabled={busy} loading={pendingCommand === again} onClick={() => runCommand(again)} data-testid="plan-again">{strings.replan}</Button>
            <Button disabled={busy} loading={pendingCommand === unchanged} onClick={() => runCommand(unchanged)} data-testid="approve-unchanged">{strings.approveUnchanged}</Button>
            <Button disabled={busy} onClick={onEdit} data-testid="edit-plan">{strings.editPlan}</Button>
          </Flex>
          <p className="quiet">{strings.replanHint}</p>
        </div>
      )}
    />
  );
}

/** A changed part of a plan; `before` or `after` is undefined if the part was added or removed. */
interface Part {
  name: string;
  /** The display name; for a step its title. */
  title: string;
  before: Json | undefined;
  after: Json | undefined;
  isStep: boolean;
}

const stepJson = ({ title, action, args }: Step): Json => ({ title, ...(action && { action }), ...(Object.keys(args).length > 0 && { args }) });

/** Return the parts of a plan by their names in a diff. */
function partsOf({ plan, steps }: PlanContent): Map<string, Json> {
  const rest: [string, Json][] = isObject(plan) ? Object.entries(plan).map(([key, value]) => [`plan.${key}`, value])
    : plan === null ? [] : [["plan", plan]];
  return new Map([...rest, ...steps.map((step): [string, Json] => [step.id, stepJson(step)])]);
}

function titleIn(name: string, ...versions: PlanContent[]): string {
  const step = versions.flatMap(({ steps }) => steps).find(({ id }) => id === name);
  return step?.title ?? name.replace(/^plan\./, "");
}

const isStepIn = (name: string, ...versions: PlanContent[]) => versions.some(({ steps }) => steps.some(({ id }) => id === name));

/** Return a step's title if it has nothing else, otherwise the value unchanged. */
function stepValue(value: Json | undefined): Json | undefined {
  return isObject(value) && Object.keys(value).length === 1 && "title" in value ? value.title : value;
}

/** Return the parts that were added, removed or changed since the previous version. */
export function changesOf(before: PlanContent, after: PlanContent): Part[] {
  const [old, fresh] = [partsOf(before), partsOf(after)];
  const names = [...new Set([...fresh.keys(), ...old.keys()])].filter((name) => !isEqual(old.get(name), fresh.get(name)));
  return names.map((name) => {
    const title = titleIn(name, after, before);
    return { name, title, before: stepValue(old.get(name)), after: stepValue(fresh.get(name)), isStep: isStepIn(name, before, after) };
  });
}

/** Return all stored versions, oldest first. */
const versionsOf = (plan: Plan): PlanContent[] => [...plan.versions, plan];

function ChangedPart({ title, before, after, isStep }: Part) {
  const strings = useAssistantStrings();
  if (before !== undefined && after !== undefined) {
    return <><span className="quiet">{strings.planChanged}</span> {visible(title)}<div><ValueChange before={before} after={after} /></div></>;
  }
  const [word, value, Mark] = before === undefined ? [strings.planAdded, after, "ins" as const] : [strings.planRemoved, before, "del" as const];
  return (
    <>
      <span className="quiet">{word}</span> <Mark>{visible(title)}</Mark>
      {!isStep && value !== undefined && <div><Value value={value} /></div>}
    </>
  );
}

const kindOf = ({ before, after }: Part) => (before === undefined ? "added" : after === undefined ? "removed" : "changed");

/** The differences between two versions of a plan. */
function VersionDiff({ id, before, after }: { id: string; before: PlanContent; after: PlanContent }) {
  const strings = useAssistantStrings();
  const changes = changesOf(before, after);
  return (
    <Disclosure id={`${id}-${after.version}`} testId="plan-diff" summary={<span>{strings.changesSinceVersion(before.version)} <span className="quiet">({changes.length})</span></span>}>
      {changes.length === 0 && <p className="quiet">{strings.noVersionChanges}</p>}
      <ul className="plan-changes detail">
        {changes.map((part) => <li key={part.name} data-testid="plan-change" data-kind={kindOf(part)}><ChangedPart {...part} /></li>)}
      </ul>
    </Disclosure>
  );
}

const colours: Record<string, string> = {
  planning: "processing", planned: "warning", executing: "processing", completed: "success", obsolete: "warning", failed: "error",
};

function Status({ status }: { status: string }) {
  const { planStatuses } = useAssistantStrings();
  const moves = status === "planning" || status === "executing";
  return (
    <Tag color={colours[status]} data-testid="plan-status" data-status={status} className="plan-status">
      {moves && <span className="activity-dot" aria-hidden="true" />}
      {labelOf(planStatuses, status)}
    </Tag>
  );
}

/** The remarks about a plan, with the version that addresses each. */
function PlanFeedback({ id, feedback }: { id: string; feedback: Feedback[] }) {
  const strings = useAssistantStrings();
  if (feedback.length === 0) return null;
  return (
    <Disclosure id={`${id}-feedback`} testId="plan-feedback" summary={<span>{strings.feedbackTitle} <span className="quiet">({feedback.length})</span></span>}>
      <ul className="plan-changes">
        {feedback.map((one) => (
          <li key={one.id} data-testid="feedback">
            <div>“{visible(one.text)}”</div>
            <div className="quiet">
              {actorName(one.by, strings)} · <Timestamp at={one.at} /> · {one.addressedIn === null ? strings.notAddressed : strings.addressedInVersion(one.addressedIn)}
            </div>
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}

interface VersionsProps {
  plan: Plan;
  selected: number;
  show: (version: number) => void;
}

function Versions({ plan, selected, show }: VersionsProps) {
  const strings = useAssistantStrings();
  const options = versionsOf(plan).map(({ version }) => ({ value: version, label: `v${version}`, title: strings.planVersion(version) }));
  if (options.length < 2) return <span className="quiet" data-testid="plan-version">{strings.planVersion(plan.version)}</span>;
  return <div data-testid="plan-versions"><Segmented size="small" aria-label={strings.versions} options={options} value={selected} onChange={show} /></div>;
}

/** The selected version; a new version is selected when it appears. */
function useSelectedVersion(plan: Plan) {
  const [selection, select] = useState({ of: plan.version, version: plan.version });
  const selected = selection.of === plan.version ? selection.version : plan.version;
  const all = versionsOf(plan);
  const at = all.findIndex(({ version }) => version === selected);
  return {
    content: all[at] ?? plan, before: all[at - 1], isNewest: selected === plan.version,
    show: (version: number) => select({ of: plan.version, version }),
  };
}

interface PlanCardProps {
  id: string;
  plan: Plan;
  title: string | undefined;
  /** The command that is being sent to the server. */
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
  onDecided: () => void;
}

/** A plan in the chat: its content, versions, remarks, and its approval request. */
export const PlanCard = memo(function PlanCard({ id, plan, title, pendingCommand, runCommand, onDecided }: PlanCardProps) {
  const strings = useAssistantStrings();
  const { content, before, isNewest, show } = useSelectedVersion(plan);
  const { status, approval, request } = plan;
  // Without an open request, ask again for the same content, and open the editor in the new version.
  const [edits, setEdits] = useState<number>();
  const edit = () => {
    setEdits(request ? plan.version : plan.version + 1);
    if (!request) runCommand(`unchanged:${plan.actionId}`);
  };
  const pinned = plan.pinned.map(({ key, title: name }) => visible(name || key)).join(", ");
  return (
    <section id={id} className="plan" tabIndex={-1} aria-label={title ?? strings.plan} data-testid="plan-card" data-status={status} data-version={plan.version}>
      <header className="plan-head">
        <h2>{visible(title ?? strings.plan)}</h2>
        <Status status={status} />
        <Versions plan={plan} selected={content.version} show={show} />
        {plan.updatedAt && <span className="quiet"><Timestamp at={plan.updatedAt} /></span>}
      </header>
      {!isNewest && (
        <Flex gap="small" align="center" wrap className="quiet">
          {strings.notNewestVersion} <Button size="small" onClick={() => show(plan.version)}>{strings.openNewestVersion}</Button>
        </Flex>
      )}
      {isNewest && status === "obsolete" && <PlanObsoleteAlert plan={plan} pendingCommand={pendingCommand} runCommand={runCommand} onEdit={edit} />}
      {isNewest && status === "failed" && <PlanFailedAlert plan={plan} pendingCommand={pendingCommand} runCommand={runCommand} />}
      {isNewest && status === "planned" && !request && plan.threadId === null && <NoRequestAlert plan={plan} pendingCommand={pendingCommand} runCommand={runCommand} />}
      {isNewest && pinned && status !== "planning" && <Alert type="warning" showIcon title={strings.ignoredChanges(pinned)} data-testid="plan-pinned" />}
      {isNewest && status === "planning" ? <p className="activity quiet" aria-live="polite">{strings.planningInProgress}</p>
        : <PlanContentView content={content} runs={isNewest && status === "executing"} isStopped={isNewest && status === "failed" && approval !== null} />}
      {before && !(isNewest && status === "planning") && <VersionDiff id={id} before={before} after={content} />}
      {isNewest && <PlanDefaults plan={plan} pendingCommand={pendingCommand} runCommand={runCommand} />}
      <PlanFeedback id={id} feedback={plan.feedback} />
      {approval && <p className="quiet" data-testid="plan-approved">{strings.approvedBy(actorName(approval.by, strings))} · <Timestamp at={approval.at} /></p>}
      {isNewest && request && <Approval key={request.id} plan={plan} id={request.id} edits={edits === plan.version} onDecided={onDecided} />}
    </section>
  );
});
