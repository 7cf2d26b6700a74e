import type { Decision, Json, Request } from "../api/types";

/** Whether the agent takes one JSON value: its code asks with a plain `interrupt()`. */
export const isPlain = ({ answer_schema }: Request) => answer_schema !== null && answer_schema !== undefined;

/** Whether words or any JSON answer it: there is no form to fill in. */
export const isFree = (request: Request) => isPlain(request) && !request.schema;

/** Whether its two buttons say all that can be said. */
export const isYesNo = ({ answer_schema }: Request) => answer_schema?.type === "boolean";

/** The decisions that have a button: where there is a form, or a yes and a no, words are no third way. */
export const offered = (request: Request): Decision[] =>
  isPlain(request) && !isFree(request) ? request.allowed.filter((decision) => decision !== "respond") : request.allowed;

/** What the agent receives for a decision; undefined where the decision is all that it hears. */
export function sentBy(request: Request, decision: Decision): Json | undefined {
  const value = isPlain(request) ? request.actions[decision]?.value as Json | undefined : undefined;
  return value === null ? undefined : value;
}
