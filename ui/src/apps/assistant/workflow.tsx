import { createContext, useContext } from "react";
import type { WorkflowRun } from "../../chat/message-parts";
import { Question } from "../../chat/question";
import { Disclosure } from "../../widgets/disclosure";
import { ItemBody } from "../../thread/item-body";
import { type Item, type StreamState, useStream } from "../../thread/stream";
import { visible } from "../../base/visible";
import type { Assistant } from "./use-assistant";
import { useAssistantStrings } from "./strings";

/** The assistant whose workflows are shown in the chat. */
export const WorkflowsContext = createContext<Assistant | undefined>(undefined);

/** Messages, tool calls and questions are shown; the plan card shows the progress. */
const isShownItem = ({ kind }: Item) => kind === "message" || kind === "tool" || kind === "pause";

/** Follow a workflow's own stream until it ends. The order of events is the same after each reload. */
function useWorkflow(thread: string): { items: Item[]; runs: boolean } {
  const plans = useContext(WorkflowsContext)?.memory?.plans ?? [];
  // An operator may retry a failed run.
  const isLive = plans.some(({ threadId, status }) => threadId === thread && (status === "planning" || status === "executing"));
  const goesOn = ({ last, phase }: StreamState) => last === 0 || phase === "running" || phase === "interrupted" || (phase === "error" && isLive);
  const { stream } = useStream(thread, goesOn);
  return { items: stream.items.filter(isShownItem), runs: goesOn(stream) };
}

/** The output of a plan or apply workflow, at the place in the chat where it was started. */
export function Workflow({ run, onDecided }: { run: WorkflowRun; onDecided: () => void }) {
  const strings = useAssistantStrings();
  const assistant = useContext(WorkflowsContext);
  const { items, runs } = useWorkflow(run.thread);
  if (items.length === 0) return null;
  const title = visible(assistant?.actions.find(({ id }) => id === run.action)?.label ?? run.action);
  const content = items.map((item) => (
    item.kind === "pause" ? item.requests.map((id) => <Question key={id} id={id} onDecided={onDecided} />) : <ItemBody key={item.key} item={item} />
  ));
  return (
    <section className="workflow" data-testid="workflow" data-thread={run.thread} data-kind={run.kind} data-runs={runs} aria-busy={runs} aria-label={title}>
      {run.kind === "plan" && !runs
        ? <Disclosure id={`workflow-${run.thread}`} summary={<span className="quiet">{strings.planningOutput(title, run.version)}</span>} testId="workflow-over">{content}</Disclosure>
        : <><div className="workflow-head quiet">{runs && <span className="activity-dot" aria-hidden="true" />}{strings.workflowLabel(title, run.version)}</div>{content}</>}
    </section>
  );
}
