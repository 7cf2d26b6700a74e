import { Alert, Button, Flex } from "antd";
import { visible } from "../widgets/visible";
import type { Plan } from "./types";
import { useAssistantWords } from "./words";

interface ObsoleteProps {
  plan: Plan;
  pressed: string | undefined;
  press: (verb: string) => void;
  onEdit: () => void;
}

/** What a plan was made from has changed: what, and the three ways on. */
export function Obsolete({ plan, pressed, press, onEdit }: ObsoleteProps) {
  const words = useAssistantWords();
  const [again, unchanged] = [`again:${plan.actionId}`, `unchanged:${plan.actionId}`];
  const names = plan.changed.map(({ key, title }) => visible(title || key)).join(", ");
  const busy = pressed !== undefined;
  return (
    <Alert
      type="warning" showIcon title={words.planObsolete} data-testid="plan-obsolete"
      description={(
        <div className="plan-ways">
          {names && <strong data-testid="changed-inputs">{words.changedInputs(names)}</strong>}
          <Flex gap="small" wrap>
            <Button type="primary" disabled={busy} loading={pressed === again} onClick={() => press(again)} data-testid="plan-again">{words.planAgain}</Button>
            <Button disabled={busy} loading={pressed === unchanged} onClick={() => press(unchanged)} data-testid="approve-unchanged">{words.approveUnchanged}</Button>
            <Button disabled={busy} onClick={onEdit} data-testid="edit-plan">{words.editPlan}</Button>
          </Flex>
          <p className="quiet">{words.planAgainMeans}</p>
        </div>
      )}
    />
  );
}
