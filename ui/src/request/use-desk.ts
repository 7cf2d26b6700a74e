import { useState } from "react";
import { useSession } from "../api/session";
import type { Decision, JsonObject, Request } from "../api/types";
import { clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { asksBack, isChanged, type Draft, type Mode } from "./draft";
import { useDraft, type Owner } from "./draft-store";
import { useHolder } from "./holding";
import { refusedTo } from "./people";
import { isNamed, targetOf, type Target } from "./target";
import { useDecision, type DecisionState } from "./use-decision";
import { editableOf } from "./values";
import { useWords } from "./words";

/** One open request with all that a person does to it. */
export interface Desk {
  request: Request;
  draft: Draft;
  change: (change: Partial<Draft>) => void;
  decision: DecisionState;
  /** It ended, or somebody else answered first. */
  dead: boolean;
  /** Nothing can be typed now: it is dead, or on its way. */
  frozen: boolean;
  /** Why this person cannot decide now, in words. */
  hindrance: string | null;
  /** What is decided once its step is done. */
  wanted: Decision;
  target: Target | null;
  typedName: string;
  typeName: (name: string) => void;
  /** Whether the open step says all that it needs. */
  ready: boolean;
  start: (decision: Decision) => void;
  back: () => void;
  confirm: () => void;
}

export function useOwner(): Owner {
  const session = useSession().data;
  return { tenant: session?.tenant ?? "", name: session?.name ?? "" };
}

function useHindrance(request: Request): string | null {
  const strings = useWords();
  const session = useSession().data;
  const holder = useHolder(request);
  const refused = refusedTo(request, session, strings);
  if (refused || !holder || holder.isMe) return refused;
  return strings.heldBy(visible(holder.name), holder.until && clock(holder.until, strings.language));
}

function isReady(request: Request, draft: Draft, named: boolean): boolean {
  if (draft.mode === "editing") return named && isChanged(request, draft);
  if (draft.mode === "asking") return draft.message.trim() !== "";
  return draft.mode !== "naming" || named;
}

const decisionOf: Partial<Record<Mode, Decision>> = { editing: "edit", rejecting: "reject", asking: "respond" };

/** Return which step a decision opens before it is sent; null when it is sent at once. */
function stepBefore(request: Request, decision: Decision, target: Target | null): Mode | null {
  if (decision === "reject") return "rejecting";
  if (decision === "respond") return asksBack(request) ? "asking" : null;
  if (decision === "edit" && editableOf(request)) return "editing";
  return target ? "naming" : null;
}

export function useDesk(request: Request, onDecided: (completed: Request) => void): Desk {
  const [draft, change] = useDraft(request, useOwner());
  const decision = useDecision(request, draft, onDecided);
  const hindrance = useHindrance(request);
  const [typedName, typeName] = useState("");
  const [wanted, want] = useState<Decision>("approve");
  const dead = decision.sending === null && (request.status !== "pending" || decision.winner !== null);
  const frozen = dead || decision.sending !== null;
  const args = draft.mode === "editing" ? draft.edited as JsonObject : (request.action?.args ?? {});
  const target = targetOf(request, args);
  const ready = isReady(request, draft, isNamed(target, typedName));

  const start = (chosen: Decision) => {
    if (frozen || hindrance) return;
    const step = stepBefore(request, chosen, target);
    if (!step) return decision.decide(chosen);
    want(chosen);
    typeName("");
    change({ mode: step });
  };
  const back = () => {
    if (decision.sending === null) change({ mode: "deciding" });
  };
  const confirm = () => {
    if (!frozen && !hindrance && ready) decision.decide(decisionOf[draft.mode] ?? wanted);
  };
  return {
    request, draft, change, decision, dead, frozen, hindrance, wanted, target, typedName, typeName, ready,
    start, back, confirm,
  };
}
