import type * as api from "./schema";

export type {
  Absence, Agent, AuditEvent, Away, BulkItem, Count, Counts, EndpointCounts, Erased, FieldProblem, Info, Json, JsonObject, ModelCalls, NewPause, Option, Pause, People, Response,
  Session, Stage, ThreadSummary, Totals, Vote, Ways, Winner,
} from "./schema";
export type { Button as ActionLook, Problem as ProblemDocument } from "./schema";

export type Decision = api.Answer["decision"];
export type RequestStatus = api.Request["status"];
export type Kind = api.Request["kind"];
export type Priority = NonNullable<api.Request["priority"]>;
export type Tier = NonNullable<api.Request["tier"]>;
export type ThreadStatus = api.Thread["status"];

type Field = api.Form["fields"][number];
type KeyOf<F> = F extends unknown ? keyof F : never;
type ValueOf<F, K> = F extends unknown ? (K extends keyof F ? F[K] : never) : never;

/** A field of any type: the properties of all types, and those of some as optional ones. */
export type FormField = Pick<Field, "name" | "type">
  & { [K in Exclude<KeyOf<Field>, "default">]?: ValueOf<Field, K> }
  & { default?: api.Json };

/** The server always sends `args`. */
export type Action = api.Action & { args: api.JsonObject };
export type Request = Omit<api.Request, "action" | "form"> & {
  action: Action | null;
  form: { fields: FormField[] } | null;
};
/** A grant with its conditions as plain JSON. */
export type NewGrant = Omit<api.NewGrant, "where"> & { where?: api.JsonObject };
export type GrantView = Omit<api.GrantView, "grant"> & { grant: Omit<api.Grant, "where"> & { where?: api.JsonObject | null } };
/** An answer without its digest, which is added when it is sent. */
export type Answer = Omit<api.Answer, "digest" | "data" | "grant"> & { data?: api.Json; grant?: NewGrant };

export type Memory = Omit<api.Memory, "form"> & { form: { fields: FormField[] } | null };
export type BulkOutcome = Omit<api.BulkOutcome, "request"> & { request?: Request | null };
export type FeedEvent = Omit<api.FeedEvent, "request"> & { request?: Request | null };
export type Thread = Omit<api.Thread, "pending"> & { pending: Request[] };
export type Page<T> = Omit<api.RequestPage, "items"> & { items: T[] };

/** What the question before a call that cannot be undone is about. */
export type FactSubject = "amount" | "target" | "argument" | "tool" | "kind";

/** What later calls may have for an argument: the same value, at most a number, or any value. */
export type Freedom = "same" | "at-most" | "any";

export function isObject(value: api.Json | undefined): value is api.JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
