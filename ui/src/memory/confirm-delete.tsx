import { Button, Flex } from "antd";
import { isStatus } from "../api/call";
import { useDeleteMemory } from "../api/memories";
import type { Memory } from "../api/types";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { useMemoryStrings } from "../strings/memory";

/** The inline confirmation before a memory is deleted for good. */
export function ConfirmDelete({ memory, onBack }: { memory: Memory; onBack: () => void }) {
  const strings = useMemoryStrings();
  const { mutate, isPending, error } = useDeleteMemory(memory.id);
  useKeys(strings.deleteMemoryTitle, [{ key: "Escape", label: strings.cancelDelete, run: onBack, whileTyping: true }]);
  return (
    <section className="memory-ask" aria-label={strings.deleteMemoryTitle} data-testid="confirm-delete-panel">
      <strong>{strings.deleteMemoryTitle}</strong>
      <p>{strings.deleteMemoryWarning}</p>
      {/* A memory that is already deleted needs no error. */}
      <Problem error={isStatus(error, 404) ? null : error} />
      <Flex gap="small" wrap>
        <Button danger type="primary" loading={isPending} onClick={() => mutate()} data-testid="confirm-delete">
          {strings.deleteMemory}
        </Button>
        <Button autoFocus disabled={isPending} onClick={onBack} data-testid="keep-memory">{strings.cancelDelete}</Button>
      </Flex>
    </section>
  );
}
