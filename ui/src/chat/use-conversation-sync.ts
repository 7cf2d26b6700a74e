import { useCallback, useEffect, useRef, useState } from "react";
import type { Thread } from "../api/types";

const minPause = 100;
const maxPause = 5_000;

/** What of a thread tells that there may be something new to read. */
const stampOf = (thread: Thread | undefined) => (thread ? `${thread.run_id} ${thread.status}` : "none");

interface SyncOptions {
  /** The thread as the page last heard of it. */
  thread: Thread | undefined;
  /** A stream is being read, or there is nothing to read yet. */
  busy: boolean;
  /** Read what was said, and take up the stream of what is being said; return the thread as it is now. */
  read: () => Promise<Thread | undefined>;
}

interface ConversationSync {
  /** The last try to read failed; it is tried again. */
  isDisconnected: boolean;
  /** What was being read is at its end, or cut off: see what the server has. */
  resync: () => void;
}

/** Keep a conversation equal to the server's: whenever nothing is being read and the thread has changed, read it. */
export function useConversationSync({ thread, busy, read }: SyncOptions): ConversationSync {
  const syncedStamp = useRef<string | null>(null);
  const failures = useRef(0);
  const [round, setRound] = useState(0);
  const [isDisconnected, setDisconnected] = useState(false);
  const stamp = stampOf(thread);
  const latest = useRef(read);
  useEffect(() => {
    latest.current = read;
  });
  const resync = useCallback(() => {
    syncedStamp.current = null;
    setRound((count) => count + 1);
  }, []);

  useEffect(() => {
    if (busy || syncedStamp.current === stamp) return undefined;
    const onSuccess = (now: Thread | undefined) => {
      syncedStamp.current = stampOf(now);
      failures.current = 0;
      setDisconnected(false);
    };
    const onFailure = () => {
      failures.current += 1;
      setDisconnected(true);
      resync();
    };
    // Pages that were cut off together would come again together.
    const pause = Math.min(minPause * 2 ** failures.current, maxPause) * (0.5 + Math.random() / 2);
    const timer = setTimeout(() => void latest.current().then(onSuccess, onFailure), round === 0 ? 0 : pause);
    return () => clearTimeout(timer);
  }, [busy, stamp, round, resync]);
  return { isDisconnected, resync };
}
