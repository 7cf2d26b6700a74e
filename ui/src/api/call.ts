import { basePath } from "../base/router";
import type { NotPossible } from "./schema";
import type { ProblemDocument, Session, Winner } from "./types";

let least = Number.NEGATIVE_INFINITY;
let most = Number.POSITIVE_INFINITY;

/** The server caches its `Date` header, which has whole seconds, for up to a second. */
const dateAccuracy = 2_000;

/** Narrow the difference between the clocks by the `Date` header of a reply. */
export function noteServerTime(date: string | null, sentAt: number, receivedAt: number): void {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  const [low, high] = [at - receivedAt, at + dateAccuracy - sentAt];
  // Replies that contradict each other mean that a clock was set: only the last one counts.
  const isConsistent = low <= most && high >= least;
  least = isConsistent ? Math.max(least, low) : low;
  most = isConsistent ? Math.min(most, high) : high;
}

/** Return how many milliseconds the server's clock is ahead; 0 while the replies allow that the clocks agree. */
export const clockDifference = () => Math.min(Math.max(0, least), most);

/** Return the present time by the server's clock, in milliseconds. */
export const serverNow = () => Date.now() + clockDifference();

/** A timer of more than 31 bits of milliseconds would fire at once. */
const maxWait = 2 ** 31 - 1;

/** Return the milliseconds until the first of these ends by the server's clock; false if none has an end. */
export function untilNext(each: readonly ({ until?: string | null } | null)[]): number | false {
  const ends = each.flatMap((one) => (one?.until ? [Date.parse(one.until)] : []));
  if (ends.length === 0) return false;
  return Math.min(Math.max(Math.min(...ends) - Date.now() - clockDifference(), 1_000), maxWait);
}

export type { Winner };

/** A problem of a field, in the person's language. */
export interface FieldProblem {
  field: string;
  message: string;
}

/** An error of a field as the server sends it: a code with its values, and a detail in English for developers. */
export interface FieldFault {
  field: string;
  code: string;
  params: { [name: string]: unknown };
  detail: string;
}

interface SignedIn {
  current: Session;
  other: Session;
}

/** An error reply of the server (RFC 9457); status 0 means that it could not be reached. */
export class ProblemError extends Error {
  readonly code: string | undefined;
  readonly errors: FieldFault[];
  readonly winner: Winner | undefined;
  /** The current session, and the one that a link would start. */
  readonly people: SignedIn | undefined;
  /** The reasons against an action, in the requested language. */
  readonly reasons: string[];

  constructor(readonly status: number, problem: Partial<ProblemDocument & Pick<NotPossible, "reasons"> & SignedIn>) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
    this.code = problem.code;
    this.errors = (problem.errors ?? []).map(({ field, message, code = "invalid", params = {} }) => ({ field, code, params, detail: message }));
    this.winner = problem.winner ?? undefined;
    this.people = problem.current && problem.other && { current: problem.current, other: problem.other };
    this.reasons = (problem.reasons ?? []).map(({ text }) => text);
  }
}

/** An error whose message is in the person's language. */
export class LocalError extends Error {}

export function isStatus(error: unknown, status: number): error is ProblemError {
  return error instanceof ProblemError && error.status === status;
}

export async function problemOf(reply: globalThis.Response): Promise<ProblemError> {
  const body: unknown = await reply.json().catch(() => null);
  const problem = typeof body === "object" && body !== null ? (body as Partial<ProblemDocument>) : {};
  return new ProblemError(reply.status, { title: `${reply.status} ${reply.statusText}`.trim(), ...problem });
}

/** Return the JSON body of a same-origin call, or throw a ProblemError. */
export async function call<T>(method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown): Promise<T> {
  const headers: HeadersInit = { accept: "application/json", "accept-language": document.documentElement.lang || "en" };
  if (method !== "GET") headers["content-type"] = "application/json";
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (body !== undefined) init.body = JSON.stringify(body);
  const sentAt = Date.now();
  const reply = await fetch(basePath + path, init).catch((error: unknown) => {
    throw new ProblemError(0, { detail: error instanceof Error ? error.message : String(error) });
  });
  noteServerTime(reply.headers.get("date"), sentAt, Date.now());
  if (!reply.ok) throw await problemOf(reply);
  return (reply.status === 204 ? undefined : await reply.json()) as T;
}
