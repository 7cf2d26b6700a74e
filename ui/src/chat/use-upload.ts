import { useCallback, useRef, useState } from "react";
import { LocalError } from "../api/call";
import type { Send } from "../api/chat";
import { uploadWithProgress } from "../api/upload";

/** Send messages with images, with progress and a way to cancel. */
export function useUpload() {
  const [uploadPercent, setUploadPercent] = useState<number>();
  const stop = useRef<AbortController>(null);
  const upload = useCallback<Send>(async (url, init) => {
    stop.current = new AbortController();
    setUploadPercent(0);
    try {
      return await uploadWithProgress(url, init, setUploadPercent, stop.current.signal);
    } finally {
      setUploadPercent(undefined);
    }
  }, []);
  return { uploadPercent, upload, cancelUpload: (why: string) => stop.current?.abort(new LocalError(why)) };
}
