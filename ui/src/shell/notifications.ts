import { useCallback, useEffect, useRef } from "react";
import type { FeedEvent, Request } from "../api/types";
import { titleOf } from "../request/title";
import { useStrings } from "../strings";
import { usePreference } from "../widgets/preference";
import { go, requestPath } from "../widgets/router";

/** Whether this browser can show notices for this page: it must trust the address, https or this machine. */
export const canNotify = () => window.isSecureContext && "Notification" in window;

/** Whether this person wants notices; asking for them asks the browser too, and "refused" says what it answered. */
export function useNotificationPreference(): [boolean, (wanted: boolean) => Promise<"done" | "refused">] {
  const [chosen, choose] = usePreference("notices");
  const setWanted = async (wanted: boolean) => {
    const allowed = wanted && (await Notification.requestPermission()) === "granted";
    choose(allowed ? "on" : "off");
    return wanted === allowed ? "done" : "refused";
  };
  return [chosen === "on" && canNotify() && Notification.permission === "granted", setWanted];
}

function show(request: Request, says: string, title: string): Notification {
  // The tag keeps two tabs from saying the same twice.
  const notification = new Notification(says, { body: title, tag: request.id, icon: "/stamp.svg" });
  notification.addEventListener("click", () => {
    window.focus();
    go(requestPath(request.id));
    notification.close();
  });
  return notification;
}

/** What to do with each event: say on the desktop that a request came while nobody looks, and take it back once it ended. */
export function useNotifications(): (event: FeedEvent) => void {
  const strings = useStrings();
  const [isEnabled] = useNotificationPreference();
  const openNotifications = useRef(new Map<string, Notification>());
  useEffect(() => {
    const closeAll = () => {
      if (document.hidden) return;
      for (const notice of openNotifications.current.values()) notice.close();
      openNotifications.current.clear();
    };
    document.addEventListener("visibilitychange", closeAll);
    return () => document.removeEventListener("visibilitychange", closeAll);
  }, []);
  return useCallback(({ type, request }) => {
    if (!request) return;
    openNotifications.current.get(request.id)?.close();
    openNotifications.current.delete(request.id);
    if (!isEnabled || !document.hidden || type !== "request.created" || request.status !== "pending") return;
    openNotifications.current.set(request.id, show(request, strings.newRequest, titleOf(request, strings)));
  }, [isEnabled, strings]);
}
