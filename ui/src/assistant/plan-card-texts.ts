import { createContext } from "react";
import { itemsOf, type ChatMessage } from "../chat/message-parts";
import type { Plan } from "./types";

/** Messages that repeat a plan card, by `textKey`, each with the line that replaces the text. */
export type CardTexts = ReadonlyMap<string, string>;

export const CardTextsContext = createContext<CardTexts>(new Map());

export const textKey = (message: string, item: number) => `${message} ${item}`;

/** The first lines of a message that contains a version of a plan, in each language. */
const beginnings = (title: string, version: number) => [`**${title}**, version ${version}:`, `**${title}** 第${version}版:`, `**${title}** 第${version}版：`];

interface PlanCardLine {
  plan: Plan;
  title: string;
  line: string;
}

/** Find the newest message that contains the version on each plan card. */
export function findCardTexts(messages: ChatMessage[], cards: PlanCardLine[]): CardTexts {
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
