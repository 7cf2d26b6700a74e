import { createContext } from "react";
import { itemsOf, type ChatMessage } from "../chat/parts";
import type { Plan } from "./types";

/** What is said in the talk and stands on a card, too: where it is said, and the one line that stands for it. */
export type OnCard = ReadonlyMap<string, string>;

export const TextsOnCards = createContext<OnCard>(new Map());

export const placeOf = (message: string, item: number) => `${message} ${item}`;

/** How a message begins that tells a version of a plan, in each language that an assistant speaks. */
const beginnings = (title: string, version: number) => [`**${title}**, version ${version}:`, `**${title}** 第${version}版:`, `**${title}** 第${version}版：`];

interface Carded {
  plan: Plan;
  title: string;
  line: string;
}

/** Find the newest text that tells just the version which the card of a plan shows. */
export function textsOnCards(messages: ChatMessage[], cards: Carded[]): OnCard {
  const texts = messages.filter(({ role }) => role === "assistant").flatMap((message) => itemsOf(message).flatMap((item) => (
    item.kind === "message" ? [{ place: placeOf(message.id, item.key), text: item.text }] : []
  )));
  const made = cards.filter(({ plan }) => plan.status !== "planning" && plan.hash !== "");
  return new Map(made.flatMap(({ plan, title, line }) => {
    const heads = beginnings(title, plan.version);
    const found = texts.findLast(({ text }) => heads.some((head) => text.startsWith(head)));
    return found ? [[found.place, line]] : [];
  }));
}
