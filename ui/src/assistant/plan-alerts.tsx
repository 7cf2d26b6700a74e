import { Alert, Button, Flex } from "antd";
import { FailureReason } from "../operations/failure-reason";
import type { Plan } from "./types";
import { useAssistantWords } from "./words";

interface PlanAlertProps {
  plan: Plan;
  pendingCommand: string | undefined;
  runCommand: (command: string) => void;
}

function RequestApprovalButton({ plan, pendingCommand, runCommand }: PlanAlertProps) {
  const { askAgain } = useAssistantWords();
  const command = `unchanged:${plan.actionId}`;
  return <Button type="primary" disabled={pendingCommand !== undefined} loading={pendingCommand === command} onClick={() => runCommand(command)} data-testid="ask-again">{askAgain}</Button>;
}

/** The error of a failed plan, with buttons to continue it or to plan again. */
export function PlanFailedAlert(props: PlanAlertProps) {
  const words = useAssistantWords();
  const { plan, pendingCommand, runCommand } = props;
  const again = `again:${plan.actionId}`;
  const isStopped = plan.approval !== null;
  return (
    <Alert
      type="error" showIcon title={words.planFailed} data-testid="plan-failed"
      description={(
        <div className="plan-ways">
          <FailureReason why={plan.error ?? ""} />
          {isStopped && <p>{words.stoppedHere}</p>}
          <Flex gap="small" wrap>
            {isStopped && !plan.request && <RequestApprovalButton {...props} />}
            <Button disabled={pendingCommand !== undefined} loading={pendingCommand === again} onClick={() => runCommand(again)} data-testid="plan-again">{words.planAgain}</Button>
          </Flex>
        </div>
      )}
    />
  );
}

/** The approval request of a plan was withdrawn; the button sends it again. */
export function NoRequestAlert(props: PlanAlertProps) {
  const words = useAssistantWords();
  return <Alert type="info" showIcon title={words.notAsked} action={<RequestApprovalButton {...props} />} data-testid="plan-not-asked" />;
}
