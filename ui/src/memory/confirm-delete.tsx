import { Button, Flex } from "antd";
import { isStatus } from "../api/call";
import { useDeleteMemory } from "../api/memories";
import type { Memory } from "../api/types";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { useMemoryWords } from "./words";

/** The last step before an answer is forgotten for good, in place. */
export function ConfirmDelete({ memory, onBack }: { memory: Memory; onBack: () => void }) {
  const strings = useMemoryWords();
  const { mutate, isPending, error } = useDeleteMemory(memory.id);
  useKeys(strings.deleteMemoryTitle, [{ key: "Escape", label: strings.keepMemory, run: onBack, whileTyping: true }]);
  return (
    <section className="memory-ask" aria-label={strings.deleteMemoryTitle} data-testid="confirm-delete-panel">
      <strong>{strings.deleteMemoryTitle}</strong>
      <p>{strings.deleteMemoryMeans}</p>
      {/* Who deleted it elsewhere has done what is wanted here. */}
      <Problem error={isStatus(error, 404) ? null : error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={isPending} onClick={() => mutate()} data-testid="confirm-delete">
          {strings.deleteMemory}
        </Button>
        <Button autoFocus disabled={isPending} onClick={onBack} data-testid="keep-memory">{strings.keepMemory}</Button>
      </Flex>
    </section>
  );
}
