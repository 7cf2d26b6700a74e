import { Button } from "antd";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { useEntries } from "./api";
import { EntryView } from "./entry";
import { useLearningStrings } from "../strings/learning";
import type { Entry } from "./types";

/** Return the versions that were taken back, unless that was taken back in turn; the entries are newest first. */
function undoneVersions(entries: Entry[]): Set<number> {
  const undone = new Set<number>();
  for (const { version, undoes } of entries) if (undoes !== null && !undone.has(version)) undone.add(undoes);
  return undone;
}

/** The history of a playbook, newest first. */
export function Entries({ id, head }: { id: string; head: number }) {
  const strings = useLearningStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useEntries(id, head);
  const entries = data?.pages.flatMap((page) => page.items) ?? [];
  const undone = undoneVersions(entries);
  return (
    <div className="playbook-body">
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && entries.length === 0 && <p className="quiet">{strings.emptyHistory}</p>}
      <ol className="inspector-rows detail" data-testid="entries">
        {entries.map((entry) => <EntryView key={entry.version} entry={entry} playbook={id} isUndone={undone.has(entry.version)} />)}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.earlierHistory}</Button>}
    </div>
  );
}
