import { Skeleton, type SkeletonProps } from "antd";
import { SlowNotice } from "./slow-notice";

/** A placeholder while content is loading. */
export function Loading({ className, ...shape }: SkeletonProps) {
  return <div className={className}><SlowNotice /><Skeleton active {...shape} /></div>;
}
