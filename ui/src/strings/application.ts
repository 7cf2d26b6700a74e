import { use } from "react";
import { useStrings, type Strings } from ".";
import type { Language } from "./language";

type Loaders<T> = Record<Exclude<Language, "en">, () => Promise<T>>;

/** Return a hook for the strings of every page and of an application, which are loaded with it, in the language of the page. */
export function createApplicationStrings<T extends object>(english: T, loaders: Loaders<T>): () => Strings & T {
  const loads = new Map<Language, Promise<T>>();
  const load = (language: keyof Loaders<T>) => {
    const known = loads.get(language) ?? loaders[language]().catch(() => english);
    loads.set(language, known);
    return known;
  };
  const merged = new WeakMap<Strings, Strings & T>();
  return function useApplicationStrings() {
    const strings = useStrings();
    const language = strings.language as Language;
    const own = language === "en" ? english : use(load(language));
    const found = merged.get(strings) ?? { ...strings, ...own };
    merged.set(strings, found);
    return found;
  };
}
