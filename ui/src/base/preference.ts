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
