import type * as api from "../api/schema";
import type { Json } from "../api/types";

export type {
  ActionFix as Fix, ActionReason as Reason, AssistantAction, InfoSource as Source, PlanFeedback as Feedback, PlanStep as Step, WorkflowRun as Run,
} from "../api/schema";

type PlanStatus = api.AssistantPlan["status"];

/** One value that the assistant knows or needs. */
export type MemoryItem = Omit<api.InfoItem, "value"> & { value: Json };

export type PlanContent = Omit<api.PlanVersion, "plan" | "status"> & { plan: Json; status: PlanStatus };
type DefaultInfo = Omit<api.DefaultInfo, "value"> & { value: Json };
export type Plan = Omit<api.AssistantPlan, "plan" | "versions" | "status" | "defaults"> & PlanContent & { versions: PlanContent[]; defaults: DefaultInfo[] };

export type Memory = Pick<api.AssistantMemory, "runs" | "asks"> & { items: MemoryItem[]; plans: Plan[] };
export type Change = Omit<api.MemoryChange, "before" | "after"> & { before: Json; after: Json };
