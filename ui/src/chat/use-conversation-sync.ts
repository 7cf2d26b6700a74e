import { useCallback, useEffect, useRef, useState } from "react";
import { endStreams } from "../api/chat";
import type { Thread } from "../api/types";

const minPause = 100;
const maxPause = 5_000;
const heldInterval = 5_000;

/** Return a stamp that changes when a thread may have something new to read. */
const stampOf = (thread: Thread | undefined) => (thread ? `${thread.run_id} ${thread.status}` : "none");

interface SyncOptions {
  /** The thread in its last known state. */
  thread: Thread | undefined;
  /** A stream is being read, or there is nothing to read yet. */
  busy: boolean;
  /** Something holds streams back: read every few seconds instead. */
  isHeld: boolean;
  /** Read the messages and resume the stream; return the current thread. */
  read: () => Promise<Thread | undefined>;
}

interface ConversationSync {
  /** The last read failed and is retried. */
  isDisconnected: boolean;
  /** Read again, because a stream ended or was cut off. */
  resync: () => void;
}

/** Keep a conversation equal to the server's: read it when its thread changed and nothing is being read. */
export function useConversationSync({ thread, busy, isHeld, read }: SyncOptions): ConversationSync {
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
    // Jitter, so that pages that were cut off together do not reconnect together.
    const pause = Math.min(minPause * 2 ** failures.current, maxPause) * (0.5 + Math.random() / 2);
    const timer = setTimeout(() => void latest.current().then(onSuccess, onFailure), round === 0 ? 0 : pause);
    return () => clearTimeout(timer);
  }, [busy, stamp, round, resync]);
  useEffect(() => {
    if (!isHeld) return undefined;
    const readOn = () => {
      endStreams();
      resync();
    };
    readOn();
    const timer = setInterval(readOn, heldInterval);
    return () => {
      clearInterval(timer);
      resync();
    };
  }, [isHeld, resync]);
  return { isDisconnected, resync };
}
