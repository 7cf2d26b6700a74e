import { Skeleton } from "antd";

/** A placeholder for a row that is loading. */
export function RowSkeleton() {
  return <Skeleton className="inbox-skeleton" active title={{ width: "70%" }} paragraph={{ rows: 1, width: "40%" }} />;
}
