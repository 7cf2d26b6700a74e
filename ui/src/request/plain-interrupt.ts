import type { Decision, Json, Request } from "../api/types";

/** Return whether the agent's code asked with a plain `interrupt()` and takes one JSON value. */
export const isPlainInterrupt = ({ answer_schema }: Request) => answer_schema !== null && answer_schema !== undefined;

/** Return whether text or any JSON is a valid answer, so that there is no form. */
export const isFreeAnswer = (request: Request) => isPlainInterrupt(request) && !request.schema;

/** Return whether the answer is a boolean, so that two buttons are enough. */
export const isYesNo = ({ answer_schema }: Request) => answer_schema?.type === "boolean";

/** Return the decisions that have a button. With a form, or with yes and no, a message is not offered. */
export const offeredDecisions = (request: Request): Decision[] =>
  isPlainInterrupt(request) && !isFreeAnswer(request) ? request.allowed.filter((decision) => decision !== "respond") : request.allowed;

/** Return the value that the agent receives for a decision; undefined if it receives only the decision. */
export function valueSentBy(request: Request, decision: Decision): Json | undefined {
  const value = isPlainInterrupt(request) ? request.actions[decision]?.value as Json | undefined : undefined;
  return value === null ? undefined : value;
}
