export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type Decision = "approve" | "edit" | "reject" | "respond";
export type RequestStatus = "pending" | "completed" | "cancelled" | "expired";
export type FieldType =
  | "text" | "textarea" | "select" | "multiselect" | "radio"
  | "checkbox" | "number" | "slider" | "date" | "boolean";

export interface Option {
  value: string | number;
  label: string;
}

export interface FormField {
  name: string;
  type: FieldType;
  label?: string | null;
  required?: boolean;
  options?: Option[] | null;
  placeholder?: string | null;
  default?: Json;
  help?: string | null;
  min?: number | string | null;
  max?: number | string | null;
  step?: number | null;
  min_length?: number | null;
  max_length?: number | null;
}

export interface Action {
  name: string;
  args: JsonObject;
  schema?: JsonObject | null;
}

export interface ActionLook {
  label?: string | null;
  style?: string | null;
}

export interface Response {
  decision: Decision;
  data?: Json;
  args?: JsonObject | null;
  message?: string | null;
  responder: string;
  channel?: string | null;
  at: string;
  authorised_digest?: string | null;
}

export interface Request {
  id: string;
  version: number;
  kind: "approval" | "form" | "choice" | "question" | "finish" | "learning";
  title: string;
  description?: string | null;
  action?: Action | null;
  form?: { fields: FormField[] } | null;
  schema?: JsonObject | null;
  allowed: Decision[];
  actions?: Partial<Record<Decision, ActionLook>> | null;
  context?: JsonObject | null;
  thread_id?: string | null;
  run_id?: string | null;
  status: RequestStatus;
  response?: Response | null;
  assignee?: string | null;
  candidate_groups?: string[] | null;
  claimed_by?: string | null;
  claimed_until?: string | null;
  priority?: "low" | "normal" | "high" | "urgent" | null;
  created_at: string;
  due_at?: string | null;
  expires_at?: string | null;
  fallback?: Json;
  reason?: string | null;
  attention?: string | null;
  acknowledged_at?: string | null;
  digest: string;
  asked_by?: string | null;
}

export interface Answer {
  decision: Decision;
  data?: Json;
  args?: JsonObject;
  message?: string;
}

export interface Page<T> {
  items: T[];
  next: string | null;
}

export interface FeedEvent {
  type: string;
  position: string | number;
  request?: Request;
  /** In place of `request`: the id of one that was passed on, and that this person may not see any more. */
  gone?: string;
}

export interface Session {
  name: string;
  role: "agent" | "person" | "admin";
  tenant: string;
  groups: string[];
}

export interface Info {
  scripted: boolean;
  model: string | null;
  version: string;
}

export interface Agent {
  name: string;
  title?: string | null;
  description?: string | null;
  input_schema?: JsonObject | null;
}

export type ThreadStatus = "idle" | "running" | "interrupted" | "done" | "error";

export interface ThreadSummary {
  id: string;
  agent: string;
  status: ThreadStatus;
  created_at: string;
  updated_at: string;
}

export interface Thread {
  id: string;
  agent: string;
  status: ThreadStatus;
  run_id?: string | null;
  values?: Json;
  pending: Request[];
  error?: string | null;
  attention?: string | null;
}
