import type { Json, JsonObject } from "../api/types";

export interface Source {
  kind: string;
  actor?: string | null;
  ref?: string | null;
  quote?: string | null;
}

/** One thing that the assistant knows, or needs to. */
export interface MemoryItem {
  key: string;
  title: string;
  description: string;
  status: string;
  value: Json;
  version: number | null;
  observedAt: string | null;
  freshUntil: string | null;
  isFresh: boolean;
  how: string;
  scope: string;
  source: Source | null;
  error: string | null;
}

export interface Run {
  workflow: string;
  status: string;
  at: string | null;
  error: string | null;
}

export interface Step {
  id: string;
  title: string;
  action: string;
  args: JsonObject;
  isDone?: boolean;
}

export interface PlanContent {
  version: number;
  status: string;
  plan?: Json;
  steps?: Step[];
}

export interface Feedback {
  id: string;
  text: string;
  by: string;
  at: string;
  addressedIn: number | null;
}

/** Of steps their ids, of other content `plan` or `plan.<its key>`. */
export interface PlanDiff {
  added: string[];
  removed: string[];
  changed: string[];
}

export interface Plan extends PlanContent {
  id: string;
  workflow: string;
  actionId: string;
  plan: Json;
  steps: Step[];
  hash: string;
  changed: { key: string; title: string }[];
  feedback: Feedback[];
  versions: PlanContent[];
  diff: PlanDiff;
  approval: { by: string; at: string } | null;
  threadId: string | null;
  request: { id: string; digest: string; status: string } | null;
  error?: string | null;
  updatedAt: string | null;
}

export interface Memory {
  id: string;
  agent: string;
  version: number;
  items: MemoryItem[];
  runs: Run[];
  plans: Plan[];
}

export interface Fix {
  kind: "ask" | "run_handler" | "run_action" | "wait" | "approve";
  ref: string;
  label: string;
}

export interface Reason {
  code: string;
  key: string;
  text: string;
  fix: Fix | null;
}

/** Something that can be done, or that cannot yet and why. */
export interface AssistantAction {
  id: string;
  type: string;
  label: string;
  description: string;
  enabled: boolean;
  reasons: Reason[];
  have: number;
  need: number;
  workflowName: string | null;
}

export interface Change {
  number: number;
  at: string;
  op: string;
  key: string;
  title: string;
  source: Source | null;
  before: Json | undefined;
  after: Json | undefined;
}
