import { useCallback, useEffect, useRef } from "react";
import type { FeedEvent, Request } from "../api/types";
import { titleOf } from "../request/title";
import { useStrings } from "../strings";
import { usePreference } from "../widgets/preference";
import { go, requestPath } from "../widgets/router";

/** Whether this browser can show notices for this page: it must trust the address, https or this machine. */
export const canNotify = () => window.isSecureContext && "Notification" in window;

/** Whether this person wants notices; asking for them asks the browser too, and "refused" says what it answered. */
export function useWantsNotices(): [boolean, (wanted: boolean) => Promise<"done" | "refused">] {
  const [chosen, choose] = usePreference("notices");
  const want = async (wanted: boolean) => {
    const allowed = wanted && (await Notification.requestPermission()) === "granted";
    choose(allowed ? "on" : "off");
    return wanted === allowed ? "done" : "refused";
  };
  return [chosen === "on" && canNotify() && Notification.permission === "granted", want];
}

function show(request: Request, says: string, title: string): Notification {
  // The tag keeps two tabs from saying the same twice.
  const notice = new Notification(says, { body: title, tag: request.id, icon: "/stamp.svg" });
  notice.addEventListener("click", () => {
    window.focus();
    go(requestPath(request.id));
    notice.close();
  });
  return notice;
}

/** What to do with each event: say on the desktop that a request came while nobody looks, and take it back once it ended. */
export function useNotices(): (told: FeedEvent) => void {
  const strings = useStrings();
  const [wanted] = useWantsNotices();
  const shown = useRef(new Map<string, Notification>());
  useEffect(() => {
    const seen = () => {
      if (document.hidden) return;
      for (const notice of shown.current.values()) notice.close();
      shown.current.clear();
    };
    document.addEventListener("visibilitychange", seen);
    return () => document.removeEventListener("visibilitychange", seen);
  }, []);
  return useCallback(({ type, request }) => {
    if (!request) return;
    shown.current.get(request.id)?.close();
    shown.current.delete(request.id);
    if (!wanted || !document.hidden || type !== "request.created" || request.status !== "pending") return;
    shown.current.set(request.id, show(request, strings.newRequest, titleOf(request, strings)));
  }, [wanted, strings]);
}
