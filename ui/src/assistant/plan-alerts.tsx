import { Alert, Button, Flex } from "antd";
import { FailureReason } from "../thread/failure-reason";
import type { Plan } from "./types";
import { useAssistantStrings } from "../strings/assistant";

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
export function PlanFailedAlert(props: PlanAlertProps) {
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
export function NoRequestAlert(props: PlanAlertProps) {
  const strings = useAssistantStrings();
  return <Alert type="info" showIcon title={strings.approvalWithdrawn} action={<RequestApprovalButton {...props} />} data-testid="plan-not-asked" />;
}
