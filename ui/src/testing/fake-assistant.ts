import type { Json, Request } from "../api/types";
import type { AssistantAction, Change, Memory, MemoryItem, Plan, Run } from "../apps/assistant/api";
import { FakeChat } from "./fake-chat";
import { aRequest } from "./fake-server";
import { known, type Known } from "./known";

const at = "2026-01-02T10:00:00Z";

export function anItem(changes: Known<MemoryItem>): MemoryItem {
  return known<MemoryItem>({
    key: "goal", title: "Business goal", description: "", status: "collected", value: "20 % more", version: 1, observedAt: at, freshUntil: null,
    isFresh: true, how: "ask", scope: "thread", mayBeAny: false, source: { kind: "user", actor: "ann", ref: null, quote: null }, error: null, ...changes,
  });
}

export function aPlan(changes: Known<Plan>): Plan {
  return known<Plan>({
    id: "p1", workflow: "planWorkflow", actionId: "plan", version: 1, status: "planned", plan: "**First** the site",
    steps: [{ id: "s1", title: "Design", action: "", args: {}, isDone: false }, { id: "s2", title: "Build", action: "", args: {}, isDone: false }],
    hash: "h", changed: [], feedback: [], versions: [], diff: { added: [], removed: [], changed: [] }, approval: null, threadId: null,
    request: null, error: null, updatedAt: at, pinned: [], defaults: [], ...changes,
  });
}

export function anAction(changes: Known<AssistantAction>): AssistantAction {
  return known<AssistantAction>({
    description: "", requiredInfo: [], handler: null, immediate: false, id: "plan", type: "plan", label: "Make a plan", enabled: true, reasons: [], have: 1, need: 1, workflowName: "planWorkflow", ...changes,
  });
}

const agent = { name: "chat", title: "", description: "", input_schema: { properties: { messages: {}, event: {} } } };

/** The request that asks to approve a plan. */
export function anApproval(plan: Plan, id = "approve-1"): Request {
  return aRequest({
    id, title: "Carry out the plan · v1", action: { name: "executeWorkflow", args: { plan: plan.plan, steps: plan.steps.map(({ id: step, title, action, args }) => ({ id: step, title, action, args })) } },
    thread_id: "t1~approve~1", context: { plan: plan.id, version: plan.version }, digest: "sha256:plan",
  });
}

/** A conversation with an assistant whose memory a test controls. */
export class FakeAssistant extends FakeChat {
  actions: AssistantAction[] = [anAction({})];
  items: MemoryItem[] = [];
  plans: Plan[] = [];
  changes: Change[] = [];
  /** The ids of the requests that the conversation asks. */
  asks: string[] = [];
  runs: Run[] = [known<Run>({ workflow: "planWorkflow", status: "completed", at, error: null })];
  /** Returns the reply to an action. */
  onAction: (verb: string) => [status: number, body: unknown] | undefined = () => undefined;

  constructor() {
    super(["chat"]);
    this.extraReply = (route, body) => this.reply(route, body);
  }

  get actionCalls(): string[] {
    return this.sent.map(({ path }) => /\/actions\/(.*)$/.exec(path)?.[1]).filter((verb) => verb !== undefined).map(decodeURIComponent);
  }

  /** Continue the conversation; pages see it by its thread. */
  move(): void {
    this.run += 1;
    this.status = "done";
  }

  private reply(route: string, _body: Json): [number, unknown] | undefined {
    const [, what = ""] = /\/v1\/assistants\/[^/]+\/(.*)$/.exec(route) ?? [];
    if (route === "GET /v1/agents") return [200, { items: [agent], next: null }];
    if (what === "") return undefined;
    if (what === "memory/history") return [200, { items: this.changes, next: null }];
    if (route.startsWith("DELETE")) {
      this.items = [];
      this.plans = [];
    }
    if (what === "memory") return [200, this.memory];
    if (what === "actions") return [200, { items: this.actions, next: null }];
    const answer = this.onAction(decodeURIComponent(what.slice("actions/".length))) ?? [202, { thread_id: "t1", run_id: "r1" }];
    if (answer[0] < 400) this.move();
    return answer;
  }

  private askOf(id: string): Memory["asks"][number] {
    const request = this.requests.get(id);
    return known<Memory["asks"][number]>({
      key: "goal", title: "Business goal", threadId: request?.thread_id ?? "",
      request: request?.status === "pending" ? { id, digest: request.digest, status: "pending" } : null,
    });
  }

  private get memory(): Memory {
    return known<Memory>({
      items: this.items, plans: this.plans,
      runs: this.runs, asks: this.asks.map((id) => this.askOf(id)),
    });
  }
}
