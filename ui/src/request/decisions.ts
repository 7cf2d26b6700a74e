import type { Decision, Json, JsonObject, Request } from "../api/types";
import { initialAnswer, renderedFields } from "../form/schema-field";
import type { RequestStrings } from "../strings/detail";
import { visible } from "../base/visible";
import { isForm } from "./outcome";

/** Return whether the agent's code asked with a plain `interrupt()` and takes one JSON value. */
const isPlainInterrupt = ({ answer_schema }: Request) => answer_schema !== null && answer_schema !== undefined;

/** Return whether text or any JSON is a valid answer, so that there is no form. */
export const isFreeAnswer = (request: Request) => isPlainInterrupt(request) && !request.schema;

/** Return whether the answer is a boolean, so that two buttons are enough. */
export const isYesNo = ({ answer_schema }: Request) => answer_schema?.type === "boolean";

/** Return the decisions that have a button. With a form, or with yes and no, a message is not offered. */
export const offeredDecisions = (request: Request): Decision[] =>
  isPlainInterrupt(request) && !isFreeAnswer(request) ? request.allowed.filter((decision) => decision !== "respond") : request.allowed;

/** Return whether the answer can only be given as free JSON. */
export const answersJson = (request: Request) =>
  Boolean(request.schema) && renderedFields(request).length === 0 && !isYesNo(request);

/** Return whether a message to the agent is an alternative to approval and not the answer itself. */
export const isFollowUpAllowed = (request: Request) =>
  !isPlainInterrupt(request) && request.allowed.includes("respond") && request.allowed.includes("approve");

/** Return whether the message is the answer and is shown among the fields. */
export const takesMessageAsAnswer = (request: Request) => offeredDecisions(request).includes("respond") && !isFollowUpAllowed(request);

/** Return whether there is anything to fill in. */
export const hasAnswer = (request: Request) =>
  renderedFields(request).length > 0 || answersJson(request) || takesMessageAsAnswer(request);

const isPrefilled = (value: Json | undefined): boolean =>
  typeof value === "object" && value !== null ? Object.values(value).some(isPrefilled) : value !== undefined && value !== null;

/** Return whether a decision has a button and a key: in a form without prefilled values there is nothing to change, and its answer approves. */
export const hasButton = (request: Request, decision: Decision) =>
  decision !== "edit" || !isForm(request) || !request.allowed.includes("approve") || renderedFields(request).some((field) => isPrefilled(field.default))
  || (answersJson(request) && isPrefilled(initialAnswer(request.schema)));

/** Return the values that "edit" opens: arguments or task; null for a plain form, which is edited in place. */
export function editableValues(request: Request): JsonObject | null {
  if (request.action) return request.action.args;
  if (request.kind === "finish") return { task: request.context?.task ?? "" };
  return null;
}

/** Return whether the answer allows something to run. */
export const allowsExecution = (request: Request) =>
  Boolean(request.action) || ["approval", "finish", "learning"].includes(request.kind);

/** Return the value that the agent receives for a decision; undefined if it receives only the decision. */
function valueSentBy(request: Request, decision: Decision): Json | undefined {
  const value = isPlainInterrupt(request) ? request.actions[decision]?.value as Json | undefined : undefined;
  return value === null ? undefined : value;
}

export const decideKeys: Record<Decision, string> = { approve: "a", edit: "e", reject: "r", respond: "d" };

/** Return whether "approve" approves other values than a vote before. */
export const isOriginal = ({ action, votes = [] }: Request, decision: Decision) =>
  decision === "approve" && action !== null && votes.some((vote) => vote.decision === "edit");

function defaultLabel(request: Request, decision: Decision, strings: RequestStrings): string {
  if (isOriginal(request, decision)) return strings.voting.approveOriginal;
  if (request.kind === "finish") return strings.finishDecisions[decision];
  if (isForm(request)) return strings.formDecisions[decision];
  return decision === "respond" && isFollowUpAllowed(request) ? strings.askAgent : strings.decisions[decision];
}

export const shorten = (text: string) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

/** Return the agent's own label of a decision; an empty text if there is none. */
export const agentLabelOf = (request: Request, decision: Decision) => visible(request.actions?.[decision]?.label ?? "").trim();

/** Return the label of a decision: our own word first, so that an agent's label cannot hide its meaning. In a form it stands alone. */
export function buttonLabel(request: Request, decision: Decision, strings: RequestStrings): string {
  const sent = valueSentBy(request, decision);
  // The label shows the value that the agent's code receives.
  if (sent !== undefined) return `${strings.decisions[decision]} → ${shorten(visible(JSON.stringify(sent)))}`;
  const own = defaultLabel(request, decision, strings);
  const agentLabel = agentLabelOf(request, decision);
  return isForm(request) || agentLabel === "" || agentLabel.toLowerCase() === own.toLowerCase() ? own : strings.decisionWithAgentLabel(own, agentLabel);
}
