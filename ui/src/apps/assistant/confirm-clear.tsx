import { Button, Flex } from "antd";
import { useKeys } from "../../base/keys";
import { Problem } from "../../widgets/problem";
import { useClear } from "./api";
import { useAssistantStrings } from "./strings";

/** The inline confirmation before a conversation's context is cleared. */
export function ConfirmClear({ id, onBack }: { id: string; onBack: () => void }) {
  const strings = useAssistantStrings();
  const { mutate, isPending, error } = useClear(id);
  useKeys(strings.clearTitle, [{ key: "Escape", label: strings.cancelClear, run: onBack, whileTyping: true }]);
  return (
    <section className="confirm-clear" aria-label={strings.clearTitle} data-testid="confirm-clear-panel">
      <strong>{strings.clearTitle}</strong>
      <p>{strings.clearWarning}</p>
      <Problem error={error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={isPending} onClick={() => mutate(undefined, { onSuccess: onBack })} data-testid="confirm-clear">{strings.confirmClear}</Button>
        <Button autoFocus disabled={isPending} onClick={onBack} data-testid="keep-context">{strings.cancelClear}</Button>
      </Flex>
    </section>
  );
}
