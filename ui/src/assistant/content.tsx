import type { Json } from "../api/types";
import { isObject } from "../request/schema-field";
import { Prose } from "../thread/prose";
import { visible } from "../widgets/visible";
import type { PlanContent, Step } from "./types";
import { Value } from "./value";
import { useAssistantWords } from "./words";

/** In which places a plan keeps the words that people read first. */
const prose = ["markdown", "text", "summary", "goal"];

function wordsIn(plan: Json): [words: string, rest: Json | undefined] {
  if (typeof plan === "string") return [plan, undefined];
  if (!isObject(plan)) return ["", plan ?? undefined];
  const name = prose.find((one) => typeof plan[one] === "string");
  if (name === undefined) return ["", plan];
  const { [name]: words, ...rest } = plan;
  return [String(words), Object.keys(rest).length > 0 ? rest : undefined];
}

/** Step by step, and how far it has come. */
function Steps({ steps, runs }: { steps: Step[]; runs: boolean }) {
  const words = useAssistantWords();
  const done = steps.filter(({ isDone }) => isDone).length;
  const now = runs ? steps.find(({ isDone }) => !isDone)?.id : undefined;
  const stateOf = (step: Step) => (step.isDone ? "done" : step.id === now ? "now" : "waits");
  return (
    <section aria-label={words.planSteps}>
      <div className="plan-part">
        <strong>{words.planSteps}</strong>
        {(runs || done > 0) && <span className="quiet" data-testid="steps-done" aria-live="polite">{words.stepsDone(done, steps.length)}</span>}
      </div>
      <ol className="plan-steps">
        {steps.map((step) => (
          <li key={step.id} data-testid="plan-step" data-id={step.id} data-state={stateOf(step)} aria-current={step.id === now ? "step" : undefined}>
            {visible(step.title || step.id)}
            {step.isDone && <span className="step-mark"> ✓<span className="for-readers"> {words.stepDone}</span></span>}
            {step.id === now && <><span className="working-dot" aria-hidden="true" /><span className="for-readers"> {words.stepNow}</span></>}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What a version of a plan says, and its steps. */
export function Content({ content, runs }: { content: PlanContent; runs: boolean }) {
  const [words, rest] = wordsIn(content.plan);
  const { steps } = content;
  return (
    <div className="plan-content" data-testid="plan-content">
      {words && <Prose text={words} />}
      {rest !== undefined && <Value value={rest} />}
      {steps.length > 0 && <Steps steps={steps} runs={runs} />}
    </div>
  );
}
