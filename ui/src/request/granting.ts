import { type Json, type JsonObject, type NewGrant, type Request, type GrantView, type Freedom, isObject } from "../api/types";
import { isUnread, type Unread } from "../form/number-text";

/** The choices of a person who approves later calls too. */
export interface GrantChoice {
  freedoms: { readonly [name: string]: Freedom };
  limits: { readonly [name: string]: number | Unread };
  onlyThread: boolean;
  onlyFolder: boolean;
  hours: number;
  maxUses: number | Unread;
  /** For the rest of a client's session: then it holds in this session and its folder alone. */
  isForSession?: boolean;
}

export const hoursOffered = [1, 8, 12, 24, 7 * 24, 30 * 24] as const;

/** Return the folder in which the agent works; undefined if the request names none. */
export function folderOf({ context }: Request): string | undefined {
  return typeof context.folder === "string" ? context.folder : undefined;
}

/** Return the choice that a person starts with: as narrow as possible. */
export const initialGrant = (request: Request): GrantChoice =>
  ({ freedoms: {}, limits: {}, onlyThread: request.thread_id !== null, onlyFolder: folderOf(request) !== undefined, hours: 1, maxUses: 20 });

/** Return the choice for the rest of the session of the client that asks. */
export const sessionGrant = (request: Request): GrantChoice =>
  ({ ...initialGrant(request), onlyThread: true, hours: 12, maxUses: 100, isForSession: true });

/** Return the limits that a grant for a request would have, as the list of grants shows them. */
export function scopeOf(request: Request, choice: GrantChoice): Scope {
  const { where = null, thread_id: thread = null, folder = null } = grantOf(request, choice, 0);
  return { where, names: Object.keys(request.action?.args ?? {}), thread_id: thread, folder, asked_by: request.asked_by, agent: null };
}

/** Return whether later calls like this one can be approved in advance; the server checks all rules. */
export function isGrantable(request: Request): boolean {
  const { kind, action, form, schema, quorum = [], tier, allowed } = request;
  const isPlain = kind === "approval" && action !== null && !form && !schema && quorum.length === 0;
  return isPlain && allowed.includes("approve") && tier !== "high" && tier !== "irreversible";
}

/** Return the arguments for which a condition can be written; a path would read a name with a dot as two names. */
export function namedArguments(request: Request): [name: string, value: Json][] {
  const entries = Object.entries(request.action?.args ?? {});
  return entries.every(([name]) => name !== "" && !name.includes(".") && name.length <= 200) ? entries : [];
}

/** Return the conditions of a choice; undefined for exactly the same arguments. */
function conditionsOf(request: Request, { freedoms, limits }: GrantChoice): JsonObject | undefined {
  const named = namedArguments(request);
  if (named.every(([name]) => (freedoms[name] ?? "same") === "same")) return undefined;
  const conditions = named.flatMap(([name, value]): [string, Json][] => {
    const freedom = freedoms[name] ?? "same";
    if (freedom === "any") return [];
    const limit = isUnread(limits[name]) ? undefined : limits[name];
    return [[name, freedom === "same" ? { equals: value } : { at_least: Math.min(0, value as number), at_most: limit ?? (value as number) }]];
  });
  return Object.fromEntries(conditions);
}

/** Return whether every number of a choice is read. */
export const isComplete = ({ freedoms, limits, maxUses }: GrantChoice) =>
  !isUnread(maxUses) && !Object.entries(limits).some(([name, limit]) => freedoms[name] === "at-most" && isUnread(limit));

/** Return the grant that is sent with the approval. */
export function grantOf(request: Request, choice: GrantChoice, now: number): NewGrant {
  const where = conditionsOf(request, choice);
  const folder = choice.onlyFolder ? folderOf(request) : undefined;
  return {
    until: new Date(now + choice.hours * 3_600_000).toISOString(),
    // A choice that is not complete is shown and never sent.
    max_uses: isUnread(choice.maxUses) ? 1 : choice.maxUses,
    ...(where && { where }),
    ...(choice.onlyThread && request.thread_id && { thread_id: request.thread_id }),
    ...(folder !== undefined && { folder }),
  };
}

/** Return the limits of a grant for one argument, as a person reads them. */
export function limitText(condition: Json): string {
  if (!isObject(condition)) return JSON.stringify(condition);
  const signs: { readonly [name: string]: string } = { equals: "=", at_most: "≤", at_least: "≥", above: ">", below: "<", one_of: "∈" };
  return Object.entries(condition).map(([name, value]) => `${signs[name] ?? name} ${JSON.stringify(value)}`).join(", ");
}

/** Return the texts that the pattern of a suggested rule admits, with … for each number; undefined for another condition. */
export function identifierShape(condition: Json): string | undefined {
  if (!isObject(condition) || typeof condition.matches !== "string") return undefined;
  const shape = condition.matches.replaceAll(/\[0-9\]\{\d,\d\}/gu, "…").replaceAll("[.]", ".");
  return /^[\w.:#…-]+$/u.test(shape) ? shape : undefined;
}

type Grant = GrantView["grant"];

export type Scope = Pick<Grant, "where" | "names" | "thread_id" | "folder" | "asked_by" | "agent">;
