import type { Request } from "../api/types";
import type { Strings } from "../strings";

type Gate = Strings["gate"];

/** The sentences of the gate at the end of a task, which the server asks in English, and their places for what varies. */
const sentences: [RegExp, (words: Gate, found: string) => string][] = [
  [/^Is this finished: (.*)$/s, (words, task) => words.isFinished(nameOf(task, words))],
  [/^Stopped before its end: (.*)$/s, (words, task) => words.stopped(nameOf(task, words))],
  [/^What is the new task\?$/, (words) => words.newTask],
  [/^Is the task before completed\?$/, (words) => words.isBeforeCompleted],
  [/^“(.*?)” is no decision here\. Say yes \(y, はい, 是\) to complete, or update \(u, 更新\) for another task\./s, (words, said) => words.noDecision(said)],
  [/It was sent on (\d+) times: complete it, or reject it for good\.$/, (words, times) => words.lastRound(times)],
  [/^Nobody decided: the question before this one was (?:cancelled|expired)\.$/, (words) => words.nobodyDecided],
  [/^Then this begins, with nothing but its hand-over:$/m, (words) => words.thenBegins],
  [/^the limit of steps of one run was reached$/, (words) => words.stepLimit],
];

/** What the title of a proposal says around its words. */
const learned = /^Learn: “(.*)”$/s;

const nameOf = (task: string, words: Gate) => (task === "a task without words" ? words.noWords : task);

/**
 * The gate's own sentences, and a proposal's title, in this person's language; every other text as it is.
 *
 * Known by their whole words and by nothing that an agent could send along: what is shown means what was asked.
 */
export function atTheGate(text: string, { kind }: Pick<Request, "kind">, { gate }: Strings): string {
  if (kind === "learning") return text.replace(learned, (_, what: string) => gate.learn(what));
  if (kind !== "finish" && kind !== "question") return text;
  return sentences.reduce((said, [sentence, words]) => said.replace(sentence, (_, found: string) => words(gate, found)), text);
}
