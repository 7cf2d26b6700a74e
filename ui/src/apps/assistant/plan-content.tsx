import { type Json, isObject } from "../../api/types";
import { useRequestStrings } from "../../strings/detail";
import { Prose } from "../../values/prose";
import { JsonValue } from "../../widgets/json-value";
import { visible } from "../../base/visible";
import type { PlanContent, Step } from "./api";
import { Value } from "./value";
import { useAssistantStrings } from "./strings";

/** The fields of a plan that may hold its text. */
const prose = ["markdown", "text", "summary", "goal"];

/** Split a plan into its text and its other fields. */
function splitText(plan: Json): [text: string, rest: Json | undefined] {
  if (typeof plan === "string") return [plan, undefined];
  if (!isObject(plan)) return ["", plan ?? undefined];
  const name = prose.find((one) => typeof plan[one] === "string");
  if (name === undefined) return ["", plan];
  const { [name]: text, ...rest } = plan;
  return [String(text), Object.keys(rest).length > 0 ? rest : undefined];
}

/** The call of a step with all arguments: people approve this, not the title. */
function StepCall({ step: { action, args } }: { step: Step }) {
  const callArgs = Object.entries(args);
  return (
    <>
      {action && <> <code className="quiet" data-testid="step-action">{visible(action)}</code></>}
      {callArgs.length > 0 && (
        <dl className="value-pairs step-args" data-testid="step-args">
          {callArgs.map(([name, value]) => (
            <div key={name}><dt>{visible(name)}</dt><dd>{typeof value === "string" ? <span className="agent-text">{visible(value)}</span> : <JsonValue value={value} />}</dd></div>
          ))}
        </dl>
      )}
    </>
  );
}

interface ContentProps {
  content: PlanContent;
  runs: boolean;
  /** True if the execution stopped with an error. */
  isStopped?: boolean;
}

/** The steps with their calls and their progress. */
function Steps({ content: { steps }, runs, isStopped = false }: ContentProps) {
  const strings = useAssistantStrings();
  const done = steps.filter(({ isDone }) => isDone).length;
  const now = runs ? steps.find(({ isDone }) => !isDone)?.id : undefined;
  const stateOf = (step: Step) => (step.isDone ? "done" : step.id === now ? "now" : "waits");
  return (
    <section aria-label={strings.planSteps}>
      <div className="plan-part">
        <strong>{strings.planSteps}</strong>
        {(runs || isStopped || done > 0) && <span className="quiet" data-testid="steps-done" aria-live="polite">{strings.stepProgress(done, steps.length)}</span>}
      </div>
      <ol className="plan-steps">
        {steps.map((step) => (
          <li key={step.id} data-testid="plan-step" data-id={step.id} data-state={stateOf(step)} aria-current={step.id === now ? "step" : undefined}>
            {visible(step.title || step.id)}
            {step.isDone && <span className="step-mark"> ✓<span className="visually-hidden"> {strings.stepCompleted}</span></span>}
            {step.id === now && <><span className="activity-dot" aria-hidden="true" /><span className="visually-hidden"> {strings.stepRunning}</span></>}
            <StepCall step={step} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The content of a version: its steps, its other fields, and the agent's text. */
export function PlanContentView({ content, ...progress }: ContentProps) {
  const { agentText } = useRequestStrings();
  const [text, rest] = splitText(content.plan);
  return (
    <div className="plan-content" data-testid="plan-content">
      {content.steps.length > 0 && <Steps content={content} {...progress} />}
      {rest !== undefined && <Value value={rest} />}
      {text && (
        <aside className="agent-context" data-testid="plan-words" aria-label={agentText}>
          <div className="quiet">{agentText}</div>
          <Prose text={text} />
        </aside>
      )}
    </div>
  );
}
