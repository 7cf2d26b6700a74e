import { lazy, type ComponentType, useCallback, useSyncExternalStore } from "react";
import { basePath } from "./router";

const sleep = (time: number) => new Promise((resolve) => { setTimeout(resolve, time); });

const isUp = () => fetch(`${basePath}/healthz`).then((reply) => reply.ok, () => false);

async function loadWithRetry<T>(load: () => Promise<T>, pause: number): Promise<T> {
  try {
    return await load();
  } catch {
    await sleep(pause);
    // If the server answers but the file stays missing, the page was updated: reload it.
    if (pause > 4_000 && (await isUp())) window.location.reload();
    return loadWithRetry(load, Math.min(pause * 2, 15_000));
  }
}

/** Load a component on first use, and retry while the server is unreachable. */
// oxlint-disable-next-line typescript/no-explicit-any -- React's own type for a component with any properties
export const lazyWithRetry = <T extends ComponentType<any>>(load: () => Promise<{ default: T }>) => lazy(() => loadWithRetry(load, 500));

export function useMedia(query: string): boolean {
  const listen = useCallback(
    (changed: () => void) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", changed);
      return () => list.removeEventListener("change", changed);
    },
    [query],
  );
  return useSyncExternalStore(listen, () => window.matchMedia(query).matches);
}

export const useNarrow = () => useMedia("(max-width: 768px)");

const changeEvent = "ringi:preference";

function subscribe(listener: () => void): () => void {
  window.addEventListener("storage", listener);
  window.addEventListener(changeEvent, listener);
  return () => {
    window.removeEventListener("storage", listener);
    window.removeEventListener(changeEvent, listener);
  };
}

function read(name: string): string | undefined {
  try {
    return window.localStorage.getItem(`ringi.${name}`) ?? undefined;
  } catch {
    return undefined;
  }
}

/** A preference of this person in this browser, shared by all tabs; undefined until it is set. */
export function usePreference(name: string): [string | undefined, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => read(name));
  const save = (newValue: string) => {
    try {
      window.localStorage.setItem(`ringi.${name}`, newValue);
    } catch {
      // Without storage the default returns after a reload.
    }
    window.dispatchEvent(new Event(changeEvent));
  };
  return [value, save];
}
