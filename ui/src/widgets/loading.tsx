import { Skeleton, type SkeletonProps } from "antd";
import { useEffect, useState } from "react";
import { useStrings } from "../strings";

const slowAfter = 1_500;

/** Nothing at first; when what is waited for does not come soon, words that say so and what to do. */
export function SlowNotice() {
  const { notYet } = useStrings();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), slowAfter);
    return () => clearTimeout(timer);
  }, []);
  return <output className="quiet slow-notice" data-testid={isLate ? "slow-notice" : undefined}>{isLate && notYet}</output>;
}

/** The shape of what comes. */
export function Loading({ className, ...shape }: SkeletonProps) {
  return <div className={className}><SlowNotice /><Skeleton active {...shape} /></div>;
}
