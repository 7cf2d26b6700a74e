import { Button, Empty } from "antd";
import { useRef, useState } from "react";
import { useMemories } from "../api/memories";
import type { Memory } from "../api/types";
import { focusedIn, useListKeys } from "../thread/list-keys";
import { useKeys } from "../widgets/keys";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { MemoryRow, type Step } from "./memory-row";
import { useMemoryWords } from "./words";
import "./memory.css";

/** The categories one after another, first that of the newest question. */
function byCategory(memories: Memory[]): Memory[] {
  const groups = new Map<string, Memory[]>();
  for (const memory of memories) groups.set(memory.category, [...(groups.get(memory.category) ?? []), memory]);
  return [...groups.values()].flat();
}

function Nothing() {
  const strings = useMemoryWords();
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.nothingRemembered} data-testid="no-memories">
      <span className="quiet">{strings.nothingRememberedHint}</span>
    </Empty>
  );
}

function Rows({ memories }: { memories: Memory[] }) {
  const strings = useMemoryWords();
  const list = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState<{ id: string; step: Step }>();
  const at = (step: Step) => () => {
    const id = focusedIn(list)?.dataset.id;
    if (id) setOpen({ id, step });
  };
  useKeys(strings.memoryPage, [
    ...useListKeys(list, strings.nextMemory, strings.previousMemory),
    { key: "e", label: strings.editMemory, run: at("editing"), once: true },
    { key: "d", label: strings.deleteMemory, run: at("deleting"), once: true },
  ]);
  return (
    <ul ref={list} className="memories" aria-label={strings.memories}>
      {memories.map((memory, n) => (
        <MemoryRow
          key={memory.id} memory={memory} heading={memories[n - 1]?.category === memory.category ? undefined : memory.category}
          step={open?.id === memory.id ? open.step : undefined} go={(step) => setOpen(step && { id: memory.id, step })}
        />
      ))}
    </ul>
  );
}

/** What is remembered of who is signed in: theirs to see, to change and to delete. */
export default function MemoryPage() {
  const strings = useMemoryWords();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useMemories();
  const memories = byCategory(data?.pages.flatMap((page) => page.items) ?? []);
  return (
    <div className="page-column">
      <h1>{strings.memoryPage}</h1>
      <p className="quiet">{strings.memoryHint}</p>
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading paragraph={{ rows: 6 }} />}
      {data && (memories.length === 0 ? <Nothing /> : <Rows memories={memories} />)}
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.more}</Button>}
    </div>
  );
}
