import { useCallback, useRef, useState } from "react";
import type { Send } from "../api/chat";
import { uploaded } from "../api/upload";

/** The way of messages with images: it says how much of one has left, and can be stopped. */
export function useUpload() {
  const [sent, setSent] = useState<number>();
  const stop = useRef<AbortController>(null);
  const upload = useCallback<Send>(async (url, init) => {
    stop.current = new AbortController();
    setSent(0);
    try {
      return await uploaded(url, init, setSent, stop.current.signal);
    } finally {
      setSent(undefined);
    }
  }, []);
  return { sent, upload, stopSending: (why: string) => stop.current?.abort(new Error(why)) };
}
