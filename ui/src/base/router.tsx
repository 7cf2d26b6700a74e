import { useSyncExternalStore, type MouseEvent, type ReactNode } from "react";

/** The path of Ringi on its server: "", or a path such as "/ringi" inside another application. */
export const basePath = document.querySelector("meta[name=ringi-base]")?.getAttribute("content") ?? "";

/** The path of this page within Ringi. */
export const currentPath = () => window.location.pathname.slice(basePath.length) || "/";

const navigationEvent = "ringi:moved";

function subscribe(changed: () => void): () => void {
  window.addEventListener("popstate", changed);
  window.addEventListener(navigationEvent, changed);
  return () => {
    window.removeEventListener("popstate", changed);
    window.removeEventListener(navigationEvent, changed);
  };
}

export function usePath(): string {
  return useSyncExternalStore(subscribe, currentPath);
}

/** Return the URL's query string, with its "?". */
export function useSearch(): string {
  return useSyncExternalStore(subscribe, () => window.location.search);
}

/** Navigate to another page; with `replace`, without a new history entry. */
export function go(path: string, { replace = false } = {}): void {
  if (path === currentPath() + window.location.search) return;
  if (replace) window.history.replaceState(null, "", basePath + path);
  else window.history.pushState(null, "", basePath + path);
  window.dispatchEvent(new Event(navigationEvent));
}

export const requestPath = (id: string) => `/r/${encodeURIComponent(id)}`;
export const threadPagePath = (id: string) => `/t/${encodeURIComponent(id)}`;
/** The page of all open requests of one session of a client. */
export const sessionPath = (thread: string) => `/sessions/${encodeURIComponent(thread)}`;
export const chatPath = (id: string) => `/chat/${encodeURIComponent(id)}`;

/** Return the id in a path such as /r/{id}, or undefined. */
export function idIn(path: string, prefix: `/${string}/`): string | undefined {
  if (!path.startsWith(prefix) || path.length === prefix.length) return undefined;
  try {
    return decodeURIComponent(path.slice(prefix.length));
  } catch {
    return undefined;
  }
}

interface LinkProps {
  to: string;
  children: ReactNode;
  className?: string;
  current?: boolean;
  testId?: string;
}

/** A link that navigates in place; with a modifier key it opens a tab as usual. */
export function Link({ to, children, className, current, testId }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to);
  };
  return (
    <a href={basePath + to} onClick={follow} className={className} data-testid={testId} aria-current={current ? "page" : undefined}>
      {children}
    </a>
  );
}
