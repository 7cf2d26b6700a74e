import type { Request } from "../api/types";
import type { Strings } from "../strings";

type GateStrings = Strings["gate"];

/** The English sentences of the finish gate as patterns, with groups for the values in them. */
const sentences: [RegExp, (words: GateStrings, found: string) => string][] = [
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

/** The title of a learning proposal. */
const learningTitle = /^Learn: “(.*)”$/s;

const nameOf = (task: string, words: GateStrings) => (task === "a task without words" ? words.noWords : task);

/**
 * Translate the finish gate's sentences and the title of a proposal; any other text is returned unchanged.
 *
 * Only whole sentences match, so an agent cannot change the meaning of a text by imitating them.
 */
export function translateGateText(text: string, { kind }: Pick<Request, "kind">, { gate }: Strings): string {
  if (kind === "learning") return text.replace(learningTitle, (_, what: string) => gate.learn(what));
  if (kind !== "finish" && kind !== "question") return text;
  return sentences.reduce((translated, [sentence, words]) => translated.replace(sentence, (_, found: string) => words(gate, found)), text);
}
