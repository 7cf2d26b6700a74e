import { useCallback, useEffect, useRef, useState } from "react";
import type { Thread } from "../api/types";

const shortest = 100;
const slowest = 5_000;

/** What of a thread tells that there may be something new to read. */
const stampOf = (thread: Thread | undefined) => (thread ? `${thread.run_id} ${thread.status}` : "none");

interface Attaching {
  /** The thread as the page last heard of it. */
  thread: Thread | undefined;
  /** A stream is being read, or there is nothing to read yet. */
  busy: boolean;
  /** Read what was said, and take up the stream of what is being said; return the thread as it is now. */
  read: () => Promise<Thread | undefined>;
}

interface Attached {
  /** The last try to read failed; it is tried again. */
  lost: boolean;
  /** What was being read is at its end, or cut off: see what the server has. */
  again: () => void;
}

/** Keep a conversation equal to the server's: whenever nothing is being read and the thread has changed, read it. */
export function useAttached({ thread, busy, read }: Attaching): Attached {
  const known = useRef<string | null>(null);
  const failures = useRef(0);
  const [round, setRound] = useState(0);
  const [lost, setLost] = useState(false);
  const stamp = stampOf(thread);
  const latest = useRef(read);
  useEffect(() => {
    latest.current = read;
  });
  const again = useCallback(() => {
    known.current = null;
    setRound((count) => count + 1);
  }, []);

  useEffect(() => {
    if (busy || known.current === stamp) return undefined;
    const settled = (now: Thread | undefined) => {
      known.current = stampOf(now);
      failures.current = 0;
      setLost(false);
    };
    const failed = () => {
      failures.current += 1;
      setLost(true);
      again();
    };
    // Pages that were cut off together would come again together.
    const pause = Math.min(shortest * 2 ** failures.current, slowest) * (0.5 + Math.random() / 2);
    const timer = setTimeout(() => void latest.current().then(settled, failed), round === 0 ? 0 : pause);
    return () => clearTimeout(timer);
  }, [busy, stamp, round, again]);
  return { lost, again };
}
