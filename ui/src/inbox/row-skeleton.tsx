import { Skeleton } from "antd";

/** The shape of a row that is on its way. */
export function RowSkeleton() {
  return <Skeleton className="inbox-skeleton" active title={{ width: "70%" }} paragraph={{ rows: 1, width: "40%" }} />;
}
