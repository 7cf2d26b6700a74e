import { useCallback, useEffect, useRef } from "react";
import { useCounts } from "../api/requests";
import type { FeedEvent, Request } from "../api/types";
import { usePreference } from "../base/browser";
import { basePath, go, requestPath } from "../base/router";
import { titleOf } from "../request/outcome";
import { useStrings } from "../strings";

/** Return whether the browser can show notifications; that needs https or this machine. */
export const canNotify = () => window.isSecureContext && "Notification" in window;

/** The notification preference. Switching it on asks the browser, which may answer "refused". */
export function useNotificationPreference(): [boolean, (enabled: boolean) => Promise<"done" | "refused">] {
  const [preference, setPreference] = usePreference("notices");
  const setEnabled = async (enabled: boolean) => {
    const allowed = enabled && (await Notification.requestPermission()) === "granted";
    setPreference(allowed ? "on" : "off");
    return enabled === allowed ? "done" : "refused";
  };
  return [preference === "on" && canNotify() && Notification.permission === "granted", setEnabled];
}

function show(request: Request, says: string, title: string): Notification {
  // The tag keeps two tabs from showing the same notification.
  const notification = new Notification(says, { body: title, tag: request.id, icon: `${basePath}/stamp.svg` });
  notification.addEventListener("click", () => {
    window.focus();
    go(requestPath(request.id));
    notification.close();
  });
  return notification;
}

/** Return an event handler that shows a notification for a new request while the page is hidden, and closes it when the request ends. */
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

/** Return the number of pending requests as text; empty for none. */
export function usePendingCount(): string {
  const count = useCounts()?.pending;
  return count === "0" ? "" : (count ?? "");
}

/** Show the number of pending requests in the browser tab. */
export function useBadge(count: string): void {
  useEffect(() => {
    document.title = count ? `(${count}) Ringi` : "Ringi";
    document.querySelector("link[rel=icon]")?.setAttribute("href", `${basePath}/${count ? "stamp-dot" : "stamp"}.svg`);
  }, [count]);
}
