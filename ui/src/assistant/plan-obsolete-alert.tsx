import { Alert, Button, Flex } from "antd";
import { visible } from "../base/visible";
import type { Plan } from "./types";
import { useAssistantStrings } from "../strings/assistant";

interface PlanObsoleteAlertProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
  onEdit: () => void;
}

/** The changed inputs of an obsolete plan, with buttons to plan again, approve or edit. */
export function PlanObsoleteAlert({ plan, pendingCommand, runCommand, onEdit }: PlanObsoleteAlertProps) {
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
