import { Button, Empty } from "antd";
import { useRef, useState } from "react";
import { useMemories } from "../api/memories";
import type { Memory } from "../api/types";
import { focusedRow, useListKeys } from "../widgets/list-keys";
import { useKeys } from "../base/keys";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { MemoryRow, type Step } from "./memory-row";
import { useMemoryStrings } from "../strings/memory";
import "./memory.css";

/** Group the memories by category; the category of the newest question comes first. */
function groupByCategory(memories: Memory[]): Memory[] {
  const groups = new Map<string, Memory[]>();
  for (const memory of memories) groups.set(memory.category, [...(groups.get(memory.category) ?? []), memory]);
  return [...groups.values()].flat();
}

function EmptyMemories() {
  const strings = useMemoryStrings();
  return (
    <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.noMemories} data-testid="no-memories">
      <span className="quiet">{strings.noMemoriesHint}</span>
    </Empty>
  );
}

function Rows({ memories }: { memories: Memory[] }) {
  const strings = useMemoryStrings();
  const list = useRef<HTMLUListElement>(null);
  const [open, setOpen] = useState<{ id: string; step: Step }>();
  const at = (step: Step) => () => {
    const id = focusedRow(list)?.dataset.id;
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

/** The memories of the signed-in person, to read, change and delete. */
export default function MemoryPage() {
  const strings = useMemoryStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useMemories();
  const memories = groupByCategory(data?.pages.flatMap((page) => page.items) ?? []);
  return (
    <div className="page-column">
      <h1>{strings.memoryPage}</h1>
      <p className="quiet">{strings.memoryHint}</p>
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading paragraph={{ rows: 6 }} />}
      {data && (memories.length === 0 ? <EmptyMemories /> : <Rows memories={memories} />)}
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.more}</Button>}
    </div>
  );
}
