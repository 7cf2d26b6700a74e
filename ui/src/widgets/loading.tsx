import { Skeleton, type SkeletonProps } from "antd";
import { useEffect, useState } from "react";
import { useStrings } from "../strings";

const patience = 1_500;

/** Nothing at first; when what is waited for does not come soon, words that say so and what to do. */
export function NotYet() {
  const { notYet } = useStrings();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), patience);
    return () => clearTimeout(timer);
  }, []);
  return <output className="quiet not-yet" data-testid={isLate ? "not-yet" : undefined}>{isLate && notYet}</output>;
}

/** The shape of what comes. */
export function Loading({ className, ...shape }: SkeletonProps) {
  return <div className={className}><NotYet /><Skeleton active {...shape} /></div>;
}
