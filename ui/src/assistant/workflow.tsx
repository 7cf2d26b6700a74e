import { createContext, useContext } from "react";
import type { WorkflowRun } from "../chat/parts";
import { Question } from "../chat/question";
import { Fold } from "../thread/fold";
import { Body } from "../thread/item";
import type { Item, StreamState } from "../thread/stream";
import { useStream } from "../thread/use-stream";
import { visible } from "../widgets/visible";
import type { Assistant } from "./use-assistant";
import { useAssistantWords } from "./words";

/** The assistant whose workflows stand in the talk. */
export const Workflows = createContext<Assistant | undefined>(undefined);

/** The plan card tells how the workflow goes; here stands what it says and asks. */
const isSaid = ({ kind }: Item) => kind === "message" || kind === "tool" || kind === "pause";

/** Follow a workflow's own stream until its end: the numbers keep one order, however often the page is loaded. */
function useWorkflow(thread: string): { items: Item[]; runs: boolean } {
  const plans = useContext(Workflows)?.memory?.plans ?? [];
  // A run that failed goes on when an operator retries it.
  const isLive = plans.some(({ threadId, status }) => threadId === thread && (status === "planning" || status === "executing"));
  const goesOn = ({ last, phase }: StreamState) => last === 0 || phase === "running" || phase === "interrupted" || (phase === "error" && isLive);
  const { stream } = useStream(thread, goesOn);
  return { items: stream.items.filter(isSaid), runs: goesOn(stream) };
}

/** What a workflow that plans or carries out says while it runs, where the talk began it. */
export function Workflow({ run, onDecided }: { run: WorkflowRun; onDecided: () => void }) {
  const words = useAssistantWords();
  const assistant = useContext(Workflows);
  const { items, runs } = useWorkflow(run.thread);
  if (items.length === 0) return null;
  const title = visible(assistant?.actions.find(({ id }) => id === run.action)?.label ?? run.action);
  const said = items.map((item) => (
    item.kind === "pause" ? item.requests.map((id) => <Question key={id} id={id} onDecided={onDecided} />) : <Body key={item.key} item={item} />
  ));
  return (
    <section className="workflow" data-testid="workflow" data-thread={run.thread} data-kind={run.kind} data-runs={runs} aria-busy={runs} aria-label={title}>
      {run.kind === "plan" && !runs
        ? <Fold id={`workflow-${run.thread}`} summary={<span className="quiet">{words.howPlanned(title, run.version)}</span>} testId="workflow-over">{said}</Fold>
        : <><div className="workflow-head quiet">{runs && <span className="working-dot" aria-hidden="true" />}{words.workflowOf(title, run.version)}</div>{said}</>}
    </section>
  );
}
