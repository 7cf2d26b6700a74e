import { Button } from "antd";
import { Problem } from "../widgets/problem";
import { Loading } from "../widgets/loading";
import { useEntries } from "./api";
import { EntryView } from "./entry";
import { useLearningWords } from "./words";

/** How a playbook came to be what it is, newest first. */
export function Entries({ id, head }: { id: string; head: number }) {
  const words = useLearningWords();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useEntries(id, head);
  const entries = data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <div className="playbook-body">
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && entries.length === 0 && <p className="quiet">{words.nothingHappened}</p>}
      <ol className="inspector-rows detail" data-testid="entries">
        {entries.map((entry) => <EntryView key={entry.version} entry={entry} playbook={id} />)}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{words.moreHistory}</Button>}
    </div>
  );
}
