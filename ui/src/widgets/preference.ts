import { useSyncExternalStore } from "react";

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

/** What this person chose in this browser, in all its tabs; undefined until they chose. */
export function usePreference(name: string): [string | undefined, (value: string) => void] {
  const value = useSyncExternalStore(subscribe, () => read(name));
  const choose = (chosen: string) => {
    try {
      window.localStorage.setItem(`ringi.${name}`, chosen);
    } catch {
      // A browser that keeps nothing shows the default again after a reload.
    }
    window.dispatchEvent(new Event(changeEvent));
  };
  return [value, choose];
}
