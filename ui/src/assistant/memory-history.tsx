import { Button, Flex } from "antd";
import { isStatus } from "../api/call";
import { Timestamp } from "../widgets/time";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { useChanges } from "./api";
import { ValueChange } from "./value-change";
import { Provenance } from "./provenance";
import type { Change as MemoryChange, MemoryItem } from "./types";
import { Value } from "./value";
import { labelOf, useAssistantStrings } from "../strings/assistant";

function Values({ change: { before, after } }: { change: MemoryChange }) {
  if (before !== null && after !== null) return <ValueChange before={before} after={after} />;
  if (after !== null) return <div className="change-new"><Value value={after} /></div>;
  return before !== null ? <div className="change-gone"><Value value={before} /></div> : null;
}

interface MemoryHistoryProps {
  id: string;
  /** Show only the changes of this item. */
  of: MemoryItem | undefined;
  onAll: () => void;
}

/** The changes of a memory, newest first. */
export function MemoryHistory({ id, of, onAll }: MemoryHistoryProps) {
  const strings = useAssistantStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useChanges(id);
  const isNew = isStatus(error, 404);
  const all = data?.pages.flatMap((page) => page.items) ?? [];
  const changes = all.filter(({ key }) => of === undefined || key === of.key);
  return (
    <>
      {of && (
        <Flex gap="small" align="center" wrap>
          <strong>{strings.changesOf(visible(of.title || of.key))}</strong>
          <Button size="small" onClick={onAll} data-testid="all-changes">{strings.allChanges}</Button>
        </Flex>
      )}
      {error && !data && !isNew && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {(data || isNew) && changes.length === 0 && <p className="quiet">{strings.noChanges}</p>}
      <ol className="inspector-rows detail">
        {changes.map((change) => (
          <li key={change.number} data-testid="memory-change" data-op={change.op} data-key={change.key}>
            <div><strong>{visible(change.title || change.key)}</strong> <span className="quiet">{labelOf(strings.changeTypes, change.op)} · <Timestamp at={change.at} /></span></div>
            <Values change={change} />
            <Provenance source={change.source} />
          </li>
        ))}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.earlierChanges}</Button>}
    </>
  );
}
