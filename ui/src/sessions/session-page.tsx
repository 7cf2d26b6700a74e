import { Button, Empty } from "antd";
import { useRef, useState } from "react";
import type { Request } from "../api/types";
import { clientInSession, clientName, clientOf } from "../request/client-call";
import { Folder } from "../request/folder";
import { openCount, useSessionRequests } from "../request/client-header";
import { folderOf } from "../request/granting";
import { RequestDetail } from "../request/request-detail";
import { useRequestStrings } from "../strings/detail";
import { useKeys } from "../base/keys";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { Link } from "../base/router";
import { visible } from "../base/visible";
import "./sessions.css";

/** Return the ids in the order of their arrival. A request that was answered keeps its place, so that nothing moves under the finger. */
function useArrivals(listed: readonly Request[] | undefined): readonly string[] {
  const [ids, setIds] = useState<readonly string[]>([]);
  const found = (listed ?? []).map(({ id }) => id).filter((id) => !ids.includes(id)).toReversed();
  if (found.length > 0) setIds([...ids, ...found]);
  return ids;
}

function focusTitle(card: Element | null | undefined): void {
  card?.querySelector("h2")?.focus();
  card?.scrollIntoView({ block: "nearest" });
}

/** All open requests of one session of a client, each with its answer. */
export default function SessionPage({ id }: { id: string }) {
  const strings = useRequestStrings();
  const { client } = strings;
  const list = useSessionRequests(id);
  const listed = list.data?.pages.flatMap(({ items }) => items);
  const arrivals = useArrivals(listed);
  const cards = useRef<HTMLUListElement>(null);
  const [first, setFirst] = useState<Request | undefined>();
  if (!first && listed?.[0]) setFirst(listed[0]);
  const all = () => [...(cards.current?.children ?? [])];
  const move = (by: 1 | -1) => {
    const now = all().findIndex((card) => card.contains(document.activeElement));
    focusTitle(all()[now < 0 ? 0 : Math.min(all().length - 1, Math.max(0, now + by))]);
  };
  const focusNext = (decided: Request) => {
    const open = arrivals.filter((each) => each !== decided.id && listed?.some((request) => request.id === each));
    const next = open.find((each) => arrivals.indexOf(each) > arrivals.indexOf(decided.id)) ?? open[0];
    if (next !== undefined) focusTitle(all()[arrivals.indexOf(next)]);
  };
  useKeys(strings.requests, [
    { key: "j", label: client.next, run: () => move(1) }, { key: "k", label: client.previous, run: () => move(-1) },
  ]);
  const name = (first && clientOf(first)) ?? clientInSession(id);
  const folder = first && folderOf(first);
  const count = openCount(list);
  return (
    <div className="session">
      <header className="session-head">
        <h1>{client.sessionOf(visible(name === undefined ? id : clientName(name)))}</h1>
        {folder !== undefined && <Folder path={folder} />}
        {count !== undefined && <output className="quiet" data-testid="session-open">{client.open(count)}</output>}
      </header>
      {list.error && !list.data && <Problem error={list.error} retry={() => void list.refetch()} />}
      {list.isPending && <Loading paragraph={{ rows: 6 }} />}
      {list.data && arrivals.length === 0 && (
        <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={client.noneOpen} data-testid="session-empty"><Link to="/">{strings.goToInbox}</Link></Empty>
      )}
      {list.hasNextPage && <Button loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{client.showOlder}</Button>}
      <ul ref={cards} className="session-cards" aria-label={strings.requests}>
        {arrivals.map((each) => (
          <li key={each} className="session-card" data-testid="session-card" data-id={each}><RequestDetail id={each} isInThread onDecided={focusNext} /></li>
        ))}
      </ul>
    </div>
  );
}
