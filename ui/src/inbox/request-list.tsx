import { Button, Empty, Segmented, Skeleton } from "antd";
import type { Shown, useRequests } from "../api/requests";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { RequestRow } from "./request-row";

interface RequestListProps {
  list: ReturnType<typeof useRequests>;
  shown: Shown;
  onShow: (shown: Shown) => void;
  openId: string | undefined;
}

function Rows({ list, shown, openId }: Omit<RequestListProps, "onShow">) {
  const strings = useStrings();
  const items = list.data?.pages.flatMap((page) => page.items);
  if (list.error && !items) return <Problem error={list.error} retry={() => void list.refetch()} />;
  if (!items) return <Skeleton active paragraph={{ rows: 8 }} />;
  if (items.length === 0) {
    const empty = shown === "pending" ? strings.emptyInbox : strings.emptyAll;
    return (
      <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={empty} data-testid="empty">
        <span className="quiet">{strings.emptyInboxHint}</span>
      </Empty>
    );
  }
  return (
    <>
      <ul className="rows" aria-label={strings.requests}>
        {items.map((request) => <RequestRow key={request.id} request={request} current={request.id === openId} />)}
      </ul>
      {list.hasNextPage && (
        <Button block onClick={() => void list.fetchNextPage()} loading={list.isFetchingNextPage}>{strings.more}</Button>
      )}
    </>
  );
}

export function RequestList({ onShow, ...rest }: RequestListProps) {
  const strings = useStrings();
  return (
    <section className="list" aria-label={strings.inbox}>
      <Segmented<Shown>
        aria-label={strings.show}
        value={rest.shown}
        onChange={onShow}
        options={[{ value: "pending", label: strings.pending }, { value: "all", label: strings.all }]}
      />
      <Rows {...rest} />
    </section>
  );
}
