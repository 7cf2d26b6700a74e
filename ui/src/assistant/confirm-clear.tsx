import { Button, Flex } from "antd";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { useClear } from "./api";
import { useAssistantWords } from "./words";

/** The inline confirmation before a conversation's context is cleared. */
export function ConfirmClear({ id, onBack }: { id: string; onBack: () => void }) {
  const words = useAssistantWords();
  const { mutate, isPending, error } = useClear(id);
  useKeys(words.clearTitle, [{ key: "Escape", label: words.keepContext, run: onBack, whileTyping: true }]);
  return (
    <section className="confirm-clear" aria-label={words.clearTitle} data-testid="confirm-clear-panel">
      <strong>{words.clearTitle}</strong>
      <p>{words.clearMeans}</p>
      <Problem error={error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={isPending} onClick={() => mutate(undefined, { onSuccess: onBack })} data-testid="confirm-clear">{words.clearNow}</Button>
        <Button autoFocus disabled={isPending} onClick={onBack} data-testid="keep-context">{words.keepContext}</Button>
      </Flex>
    </section>
  );
}
