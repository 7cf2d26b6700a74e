import { createContext, useContext } from "react";
import texts from "../../../src/ringi/base/texts/en.json";
import { en as inbox } from "./inbox";
import { en as people } from "./people";
import { en as request } from "./request";
import { en as shell } from "./shell";
import { en as thread } from "./thread";

export const en = { ...shell, ...inbox, ...request, ...thread, ...people, texts };

/** The parts of the page whose strings in English are loaded with them; another language is loaded as a whole. */
type Part = "detail" | "chat" | "memory" | "overview" | "operations";

/** The strings of one language. */
export type Strings = typeof en & { parts?: Record<Part, object> };

export const StringsContext = createContext<Strings>(en);

export const useStrings = () => useContext(StringsContext);

const merged = new WeakMap<Strings, Map<Part, Strings>>();

/** Return the strings of every page and of one part. */
export function usePartStrings<T extends object>(part: Part, english: () => T): Strings & T {
  const strings = useStrings();
  const known = merged.get(strings) ?? new Map<Part, Strings>();
  merged.set(strings, known);
  const found = known.get(part) ?? { ...strings, ...(strings.parts?.[part] ?? english()) };
  known.set(part, found);
  return found as Strings & T;
}
