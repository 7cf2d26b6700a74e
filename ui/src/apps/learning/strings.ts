import { createApplicationStrings } from "../../strings/application";
import { en as playbook } from "./playbook-texts";
import { en } from "./texts";

/** Return the strings of the learning pages and those of every page. */
export const useLearningStrings = createApplicationStrings({ ...en, ...playbook }, {
  ja: async () => (await import("./ja")).ja,
  zh: async () => (await import("./zh")).zh,
});

/** Return the label of a server's name, or the name itself if the page has no label for it. */
export const labelOf = (names: Record<string, string>, name: string) => names[name] ?? name;
