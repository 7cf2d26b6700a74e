import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Agent, Request } from "../api/types";
import { Question } from "../chat/question";
import type { Conversation } from "../chat/use-conversation";
import { useActions, useApprovals, useContextMemory, useForget, usePress, useRefresh } from "./api";
import { textsOnCards, type OnCard } from "./on-card";
import { PlanCard } from "./plan-card";
import type { AssistantAction, Memory, Plan } from "./types";
import { usePlaces } from "./use-places";
import { useAssistantWords } from "./words";

/** What stands among the messages without being one. */
export interface Aside {
  key: string;
  after: string | undefined;
  content: ReactNode;
}

export interface Assistant {
  actions: AssistantAction[];
  memory: Memory | undefined;
  asides: Aside[];
  /** What is said in the messages and stands on a card. */
  onCards: OnCard;
  /** The open requests to carry out plans. */
  approvals: Request[];
  /** What is on its way to the server. */
  pressed: string | undefined;
  refusal: Error | null;
  dismiss: () => void;
  /** The server has the conversation. */
  isBegun: boolean;
  press: (verb: string) => void;
}

/** A version comes to the end of the talk when it is begun, and when there is something to read. */
const keyOf = ({ id, version, status }: Plan) => `plan:${id}:${version}:${status === "planning" ? "begun" : "made"}`;
const elementOf = (plan: Plan) => `plan-${plan.id}`;
const openIn = (place: ParentNode | null) => place?.querySelector<HTMLElement>("article[data-status=pending]");

/** The bar at the foot would cover what is only just in view. */
function goTo(place: HTMLElement | null | undefined): void {
  if (!place) return;
  const bar = document.querySelector<HTMLElement>(".chat-bar");
  place.style.scrollMarginBlockEnd = `${bar?.offsetHeight ?? 0}px`;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "center" });
}

/** Where a plan is approved: the button, else its open request, else its card. */
export function showPlan(plan: Plan): void {
  const card = document.getElementById(elementOf(plan));
  const open = openIn(card);
  goTo(open?.querySelector<HTMLElement>("[data-testid=decide-approve]:not([disabled])") ?? open ?? card);
}

/** The questions that the memory has named since the page is open: one that is answered stays as a record. */
function useAsked(memory: Memory | undefined): string[] {
  const [seen, see] = useState<string[]>([]);
  const named = (memory?.asks ?? []).flatMap(({ request }) => (request ? [request.id] : []));
  const fresh = named.filter((id) => !seen.includes(id));
  if (fresh.length > 0) see([...seen, ...fresh]);
  return seen;
}

/** Whoever asked for a question is taken to it when it comes. */
function useExpected(asked: string[]) {
  const known = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!known.current) return;
    const fresh = asked.find((id) => !known.current?.has(id));
    if (fresh === undefined) return;
    known.current = null;
    goTo(openIn(document.querySelector(`[data-beside="ask:${CSS.escape(fresh)}"]`)));
  }, [asked]);
  return () => {
    known.current = new Set(asked);
  };
}

/** The side of a conversation that an assistant has: what can be done, what it knows, its plans and its questions. */
export function useAssistant(talk: Conversation, id: string, agent: Agent, onBegin: () => void, onDecided: () => void): Assistant | undefined {
  const words = useAssistantWords();
  const { thread, phase, messages } = talk;
  const actions = useActions(id, agent);
  const enabled = actions !== undefined;
  const { data: memory } = useContextMemory(id, agent.name, enabled);
  useRefresh(id, `${thread?.run_id} ${thread?.status} ${phase}`, enabled);

  const plans = (memory?.plans ?? []).filter(({ status }) => status !== "none");
  const approvals = useApprovals(plans);
  const asked = useAsked(memory);
  const places = usePlaces(
    [...plans.map(keyOf), ...asked.map((one) => `ask:${one}`)], messages.at(-1)?.id, phase === "ready",
  );
  const expect = useExpected(asked);
  const { press, isPending, variables, error, reset } = usePress(id, agent.name, () => {
    talk.begin();
    onBegin();
  });
  useForget(`${thread?.run_id} ${messages.at(-1)?.id}`, error !== null, reset);
  if (!actions) return undefined;
  const titleOf = (plan: Plan) => actions.find((action) => action.id === plan.actionId)?.label;
  const asides = [...places].flatMap(([key, after]): Aside[] => {
    const plan = plans.find((one) => key === keyOf(one));
    if (plan) {
      const card = <PlanCard id={elementOf(plan)} plan={plan} title={titleOf(plan)} pressed={isPending ? variables : undefined} press={press} onDecided={onDecided} />;
      return [{ key: `plan:${plan.id}`, after, content: card }];
    }
    const request = key.startsWith("ask:") ? key.slice("ask:".length) : undefined;
    if (request === undefined) return [];
    return [{ key, after, content: <Question id={request} onDecided={onDecided} /> }];
  });
  const cards = plans.map((plan) => {
    const title = titleOf(plan) ?? words.plan;
    return { plan, title, line: words.onCard(title, plan.version) };
  });
  return {
    actions, memory, asides, onCards: textsOnCards(messages, cards), approvals, refusal: error, dismiss: reset,
    isBegun: phase === "loading" || thread !== undefined, pressed: isPending ? variables : undefined,
    press: (verb) => {
      expect();
      press(verb);
    },
  };
}
