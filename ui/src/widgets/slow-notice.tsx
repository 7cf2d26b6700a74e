import { useEffect, useState } from "react";
import { useStrings } from "../strings";

const slowAfter = 1_500;

/** Show nothing at first, and an explanation if loading takes long. */
export function SlowNotice() {
  const { serverNotResponding } = useStrings();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), slowAfter);
    return () => clearTimeout(timer);
  }, []);
  return <output className="quiet slow-notice" data-testid={isLate ? "slow-notice" : undefined}>{isLate && serverNotResponding}</output>;
}
