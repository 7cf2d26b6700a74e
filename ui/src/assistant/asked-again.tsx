import { Alert, Button, Flex } from "antd";
import { Why } from "../operations/why";
import type { Plan } from "./types";
import { useAssistantWords } from "./words";

interface PressProps {
  plan: Plan;
  pressed: string | undefined;
  press: (verb: string) => void;
}

function AskAgain({ plan, pressed, press }: PressProps) {
  const { askAgain } = useAssistantWords();
  const verb = `unchanged:${plan.actionId}`;
  return <Button type="primary" disabled={pressed !== undefined} loading={pressed === verb} onClick={() => press(verb)} data-testid="ask-again">{askAgain}</Button>;
}

/** Why a plan came no further, and the ways on: from where it stopped, or with another plan. */
export function Failed(props: PressProps) {
  const words = useAssistantWords();
  const { plan, pressed, press } = props;
  const again = `again:${plan.actionId}`;
  const isStopped = plan.approval !== null;
  return (
    <Alert
      type="error" showIcon title={words.planFailed} data-testid="plan-failed"
      description={(
        <div className="plan-ways">
          <Why why={plan.error ?? ""} />
          {isStopped && <p>{words.stoppedHere}</p>}
          <Flex gap="small" wrap>
            {isStopped && !plan.request && <AskAgain {...props} />}
            <Button disabled={pressed !== undefined} loading={pressed === again} onClick={() => press(again)} data-testid="plan-again">{words.planAgain}</Button>
          </Flex>
        </div>
      )}
    />
  );
}

/** The question of a plan was withdrawn: it can be asked again. */
export function NotAsked(props: PressProps) {
  const words = useAssistantWords();
  return <Alert type="info" showIcon title={words.notAsked} action={<AskAgain {...props} />} data-testid="plan-not-asked" />;
}
