import { Button, Flex } from "antd";
import { isStatus } from "../api/call";
import { Clock } from "../widgets/time";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { useChanges } from "./api";
import { ShortChange } from "./short-change";
import { From } from "./source";
import type { Change as MemoryChange, MemoryItem } from "./types";
import { Value } from "./value";
import { named, useAssistantWords } from "./words";

function Values({ change: { before, after } }: { change: MemoryChange }) {
  if (before !== null && after !== null) return <ShortChange before={before} after={after} />;
  if (after !== null) return <div className="change-new"><Value value={after} /></div>;
  return before !== null ? <div className="change-gone"><Value value={before} /></div> : null;
}

interface ChangesProps {
  id: string;
  /** Only the changes of this one. */
  of: MemoryItem | undefined;
  onAll: () => void;
}

/** How the memory came to be what it is, newest first. */
export function Changes({ id, of, onAll }: ChangesProps) {
  const words = useAssistantWords();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useChanges(id);
  const isNew = isStatus(error, 404);
  const all = data?.pages.flatMap((page) => page.items) ?? [];
  const changes = all.filter(({ key }) => of === undefined || key === of.key);
  return (
    <>
      {of && (
        <Flex gap="small" align="center" wrap>
          <strong>{words.changesOf(visible(of.title || of.key))}</strong>
          <Button size="small" onClick={onAll} data-testid="all-changes">{words.allChanges}</Button>
        </Flex>
      )}
      {error && !data && !isNew && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {(data || isNew) && changes.length === 0 && <p className="quiet">{words.noChanges}</p>}
      <ol className="inspector-rows detail">
        {changes.map((change) => (
          <li key={change.number} data-testid="memory-change" data-op={change.op} data-key={change.key}>
            <div><strong>{visible(change.title || change.key)}</strong> <span className="quiet">{named(words.ops, change.op)} · <Clock at={change.at} /></span></div>
            <Values change={change} />
            <From source={change.source} />
          </li>
        ))}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{words.moreChanges}</Button>}
    </>
  );
}
