import type { Request } from "../api/types";
import type { Strings } from "../strings";

type GateStrings = Strings["gate"];

/** The English sentences of the finish gate as patterns, with groups for the values in them. */
const sentences: [RegExp, (strings: GateStrings, part: string) => string][] = [
  [/^Is this finished: (.*)$/s, (strings, task) => strings.finishQuestion(nameOf(task, strings))],
  [/^Stopped before its end: (.*)$/s, (strings, task) => strings.stopped(nameOf(task, strings))],
  [/^What is the new task\?$/, (strings) => strings.newTask],
  [/^Is the task before completed\?$/, (strings) => strings.previousTaskQuestion],
  [/^“(.*?)” is no decision here\. Say yes \(y, はい, 是\) to complete, or update \(u, 更新\) for another task\./s, (strings, answer) => strings.unclearAnswer(answer)],
  [/It was sent on (\d+) times: complete it, or reject it for good\.$/, (strings, times) => strings.roundLimit(times)],
  [/^Nobody decided: the question before this one was (?:cancelled|expired)\.$/, (strings) => strings.previousUndecided],
  [/^Then this begins, with nothing but its hand-over:$/m, (strings) => strings.nextTaskTitle],
  [/^the limit of steps of one run was reached$/, (strings) => strings.stepLimit],
];

/** The title of a learning proposal. */
const learningTitle = /^Learn: “(.*)”$/s;

const nameOf = (task: string, strings: GateStrings) => (task === "a task without words" ? strings.emptyTask : task);

/**
 * Translate the finish gate's sentences and the title of a proposal; any other text is returned unchanged.
 *
 * Only whole sentences match, so an agent cannot change the meaning of a text by imitating them.
 */
export function translateGateText(text: string, { kind }: Pick<Request, "kind">, { gate }: Strings): string {
  if (kind === "learning") return text.replace(learningTitle, (_, insight: string) => gate.learnTitle(insight));
  if (kind !== "finish" && kind !== "question") return text;
  return sentences.reduce((translated, [sentence, translate]) => translated.replace(sentence, (_, part: string) => translate(gate, part)), text);
}
