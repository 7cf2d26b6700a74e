import { Alert, Button, Flex, Segmented, Tag } from "antd";
import { memo, useState } from "react";
import { actorName } from "../widgets/names";
import { Disclosure } from "../widgets/disclosure";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import { Approval } from "./approval";
import { VersionDiff } from "./version-diff";
import { PlanContentView } from "./plan-content";
import { PlanDefaults } from "./plan-defaults";
import { versionsOf } from "./diff";
import { NoRequestAlert, PlanFailedAlert } from "./plan-alerts";
import { PlanObsoleteAlert } from "./plan-obsolete-alert";
import type { Feedback, Plan } from "./types";
import { labelOf, useAssistantStrings } from "../strings/assistant";

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
