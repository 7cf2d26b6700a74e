import { useEffect, useState, useRef } from "react";
import type { Agent, Request } from "../../api/types";
import { itemsOf, type ChatMessage } from "../../chat/message-parts";
import { Question } from "../../chat/question";
import type { Conversation } from "../../chat/use-conversation";
import { useAssistantStrings } from "./strings";
import {
  type Plan, useActions, useApprovals, useContextMemory, useResetOnChange, useRunCommand, useRefreshMemory, type AssistantAction,
  type Memory,
} from "./api";
import { PlanCard } from "./plan-card";
import { type CardTexts, textKey, type Aside } from "../../chat/bubbles";

/** The message after which each card stands; undefined for the end of the chat. */
type InsertPositions = ReadonlyMap<string, string | undefined>;

/** Milliseconds without change after which the newest message counts as complete. */
const rest = 3_000;

/** Keep the position of each card while messages are added. New `keys` stay at the end until the chat is idle. */
function useInsertPositions(keys: string[], last: string | undefined, isResting: boolean): InsertPositions {
  const [positions, setPositions] = useState<InsertPositions>(new Map());
  const fresh = keys.filter((key) => !positions.has(key)).join("\n");
  useEffect(() => {
    if (!fresh || !isResting) return undefined;
    const place = () => setPositions((current) => new Map([...current, ...fresh.split("\n").map((key) => [key, last] as const)]));
    const timer = setTimeout(place, rest);
    return () => clearTimeout(timer);
  }, [fresh, last, isResting]);
  return new Map([...positions, ...(fresh ? fresh.split("\n").map((key) => [key, undefined] as const) : [])]);
}

/** The first lines of a message that contains a version of a plan, in each language. */
const beginnings = (title: string, version: number) => [`**${title}**, version ${version}:`, `**${title}** 第${version}版:`, `**${title}** 第${version}版：`];

interface PlanCardLine {
  plan: Plan;
  title: string;
  line: string;
}

/** Find the newest message that contains the version on each plan card. */
function findCardTexts(messages: ChatMessage[], cards: PlanCardLine[]): CardTexts {
  const texts = messages.filter(({ role }) => role === "assistant").flatMap((message) => itemsOf(message).flatMap((item) => (
    item.kind === "message" ? [{ place: textKey(message.id, item.key), text: item.text }] : []
  )));
  const made = cards.filter(({ plan }) => plan.status !== "planning" && plan.hash !== "");
  return new Map(made.flatMap(({ plan, title, line }) => {
    const heads = beginnings(title, plan.version);
    const found = texts.findLast(({ text }) => heads.some((head) => text.startsWith(head)));
    return found ? [[found.place, line]] : [];
  }));
}

export interface Assistant {
  actions: AssistantAction[];
  memory: Memory | undefined;
  asides: Aside[];
  /** Messages that repeat a plan card. */
  cardTexts: CardTexts;
  /** The open approval requests of plans. */
  approvals: Request[];
  /** The command that is being sent to the server. */
  pendingCommand: string | undefined;
  refusal: Error | null;
  dismiss: () => void;
  /** True if the conversation exists on the server. */
  isStarted: boolean;
  runCommand: (command: string) => void;
}

/** The key of a card: a version moves to the end of the chat when it is started and when it has content. */
const keyOf = ({ id, version, status }: Plan) => `plan:${id}:${version}:${status === "planning" ? "begun" : "made"}`;
const elementOf = (plan: Plan) => `plan-${plan.id}`;
const openIn = (place: ParentNode | null) => place?.querySelector<HTMLElement>("article[data-status=pending]");

/** Scroll to an element and focus it, above the bar at the bottom. */
function goTo(place: HTMLElement | null | undefined): void {
  if (!place) return;
  const bar = document.querySelector<HTMLElement>(".chat-input-bar");
  place.style.scrollMarginBlockEnd = `${bar?.offsetHeight ?? 0}px`;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "center" });
}

/** Scroll to the approve button of a plan, or to its open request, or to its card. */
export function showPlan(plan: Plan): void {
  const card = document.getElementById(elementOf(plan));
  const open = openIn(card);
  goTo(open?.querySelector<HTMLElement>("[data-testid=decide-approve]:not([disabled])") ?? open ?? card);
}

/** Return the requests that have been open since the page was loaded; answered ones stay visible. */
function useQuestionIds(memory: Memory | undefined): string[] {
  const [requestIds, setRequestIds] = useState<string[]>([]);
  const openIds = (memory?.asks ?? []).flatMap(({ request }) => (request ? [request.id] : []));
  const fresh = openIds.filter((id) => !requestIds.includes(id));
  if (fresh.length > 0) setRequestIds([...requestIds, ...fresh]);
  return requestIds;
}

/** Scroll to a question when it appears, if this page asked for it. */
function useScrollToNewQuestion(questionIds: string[]) {
  const earlierIds = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (!earlierIds.current) return;
    const fresh = questionIds.find((id) => !earlierIds.current?.has(id));
    if (fresh === undefined) return;
    earlierIds.current = null;
    goTo(openIn(document.querySelector(`[data-beside="ask:${CSS.escape(fresh)}"]`)));
  }, [questionIds]);
  return () => {
    earlierIds.current = new Set(questionIds);
  };
}

/** Return the actions, memory, plans and questions of an assistant's conversation. */
export function useAssistant(talk: Conversation, id: string, agent: Agent, onBegin: () => void, onDecided: () => void): Assistant | undefined {
  const strings = useAssistantStrings();
  const { thread, phase, messages } = talk;
  const actions = useActions(id, agent);
  const enabled = actions !== undefined;
  const { data: memory } = useContextMemory(id, agent.name, enabled);
  useRefreshMemory(id, `${thread?.run_id} ${thread?.status} ${phase}`, enabled);

  const plans = (memory?.plans ?? []).filter(({ status }) => status !== "none");
  const approvals = useApprovals(plans);
  const questionIds = useQuestionIds(memory);
  const positions = useInsertPositions(
    [...plans.map(keyOf), ...questionIds.map((one) => `ask:${one}`)], messages.at(-1)?.id, phase === "ready",
  );
  const expect = useScrollToNewQuestion(questionIds);
  const { runCommand, isPending, variables, error, reset } = useRunCommand(id, agent.name, () => {
    talk.start();
    onBegin();
  });
  useResetOnChange(`${thread?.run_id} ${messages.at(-1)?.id}`, error !== null, reset);
  if (!actions) return undefined;
  const titleOf = (plan: Plan) => actions.find((action) => action.id === plan.actionId)?.label;
  const asides = [...positions].flatMap(([key, after]): Aside[] => {
    const plan = plans.find((one) => key === keyOf(one));
    if (plan) {
      const card = <PlanCard id={elementOf(plan)} plan={plan} title={titleOf(plan)} pendingCommand={isPending ? variables : undefined} runCommand={runCommand} onDecided={onDecided} />;
      return [{ key: `plan:${plan.id}`, after, content: card }];
    }
    const request = key.startsWith("ask:") ? key.slice("ask:".length) : undefined;
    if (request === undefined) return [];
    return [{ key, after, content: <Question id={request} onDecided={onDecided} /> }];
  });
  const cards = plans.map((plan) => {
    const title = titleOf(plan) ?? strings.plan;
    return { plan, title, line: strings.sameAsCard(title, plan.version) };
  });
  return {
    actions, memory, asides, cardTexts: findCardTexts(messages, cards), approvals, refusal: error, dismiss: reset,
    isStarted: phase === "loading" || thread !== undefined, pendingCommand: isPending ? variables : undefined,
    runCommand: (command) => {
      expect();
      runCommand(command);
    },
  };
}
