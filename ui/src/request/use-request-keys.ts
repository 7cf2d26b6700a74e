import type { Decision } from "../api/types";
import { useKeys, type Shortcut } from "../widgets/keys";
import { decideKeys, labelOf } from "./decide-bar";
import { isChanged, lacksWords, wantsWords } from "./draft";
import type { Holding } from "./holding";
import { isFree, offered } from "./plain";
import type { Desk } from "./use-desk";
import { editableOf } from "./values";
import { useWords, type Words } from "./words";

/** What Ctrl+Enter does from inside a form: its plain submission. */
function primary(desk: Desk): Decision | undefined {
  // Whoever types words means them, not the yes beside them.
  if (isFree(desk.request)) return "respond";
  return (["approve", "respond"] as const).find((decision) => desk.request.allowed.includes(decision));
}

/** Whether a decision has nothing to say yet: the key then leads to where it is said. */
function isWanting({ request, draft }: Desk, decision: Decision): boolean {
  if (decision === "respond") return wantsWords(request) && lacksWords(request, draft);
  return decision === "edit" && !editableOf(request) && !isChanged(request, draft);
}

function whileDeciding(desk: Desk, strings: Words, focusFirst: (() => void) | null): Shortcut[] {
  const { request } = desk;
  const decide = (decision: Decision) => () => {
    if (isWanting(desk, decision)) focusFirst?.();
    else desk.start(decision);
  };
  const main = primary(desk);
  return [
    ...offered(request).map((decision) => ({
      key: decideKeys[decision], label: labelOf(request, decision, strings), run: decide(decision), once: true,
    })),
    ...(main ? [{ key: "mod+Enter", label: strings.sendKey, run: decide(main), whileTyping: true, once: true }] : []),
    ...(focusFirst ? [{ key: "Enter", label: strings.firstField, run: focusFirst, once: true }] : []),
  ];
}

function inStep({ confirm, back, draft }: Desk, strings: Words): Shortcut[] {
  const leave = { key: "Escape", label: strings.keepDeciding, run: back, whileTyping: true };
  if (draft.mode === "passing") return [leave];
  return [
    { key: "Enter", label: strings.confirmKey, run: confirm, once: true },
    { key: "d", label: strings.confirmKey, run: confirm, once: true },
    { key: "mod+Enter", label: strings.sendKey, run: confirm, whileTyping: true, once: true },
    leave,
  ];
}

function holdKeys({ holder, claim, release }: Holding, strings: Words): Shortcut[] {
  return holder
    ? [{ key: "u", label: strings.release, run: release, once: true }]
    : [{ key: "c", label: strings.claim, run: claim, once: true }];
}

interface KeysOptions {
  /** Of several open requests the one with the focus has the keys. */
  active: boolean;
  /** Go to the first thing to fill in; null where there is none. */
  focusFirst: (() => void) | null;
  /** Out of a text, so that the keys decide again. */
  leaveText: () => void;
}

/** The keys of an open request: what its buttons do, where the hands are. */
export function useRequestKeys(desk: Desk, holding: Holding, { active, focusFirst, leaveText }: KeysOptions): void {
  const strings = useWords();
  const shortcuts = () => {
    if (!active) return [];
    if (desk.draft.mode !== "deciding") return inStep(desk, strings);
    const leave = { key: "Escape", label: strings.leaveText, run: leaveText, whileTyping: "only" } as const;
    if (desk.dead || desk.hindrance !== null) return [leave];
    return [...whileDeciding(desk, strings, focusFirst), ...holdKeys(holding, strings), leave];
  };
  useKeys(strings.keysOfRequest, shortcuts());
}
