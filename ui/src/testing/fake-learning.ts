import type { JsonObject, Request } from "../api/types";
import type { Conversation, Insight, Turn } from "../apps/learning/api";
import { aRequest } from "./fake-server";
import { known, type Known } from "./known";

const at = "2026-01-02T10:00:00Z";

export function anInsight(changes: Known<Insight>): Insight {
  return known<Insight>({
    id: "i1", type: "new_strategy", text: "Clamp the cheeks of a tenon before the shoulders.", section: "strategies", applies_when: null, why: "The joint opened.",
    sourceBulletId: null, op: "add", sources: [], evidence: [], feedback: null, status: "pending", request: null, version: null, reason: null, contradicts: [], contradictsPlaybook: false,
    isOwnOpinion: false, ...changes,
  });
}

export function aTurn(changes: Known<Turn>): Turn {
  return known<Turn>({
    runId: "run-1", threadId: "learn-1", query: "How do I clamp a tenon?", response: "**First** the cheeks, see [b-00001].",
    references: [{ source: "woodworking_db", noteId: "joint-012" }], bullets: ["b-00001"], at, phase: "done",
    feedback: { source: "self", verdict: "unknown", text: "", by: null }, reflected: null, insights: [], suppressed: [], droppedQuotes: 0, unsupportedInsights: 0,
    usage: { answer: null, reflect: null }, parent: null, error: null, ...changes,
  });
}

export function aConversation(changes: Known<Conversation>): Conversation {
  return known<Conversation>({ id: "learn-1", agent: "engrammer", status: "done", turns: [aTurn({})], pending: [], error: null, ...changes, });
}

const operation = { op: "add", section: "strategies", text: "Clamp the cheeks of a tenon before the shoulders.", applies_when: "", bullet: null, sources: [], base: {} };

/** The request that asks whether something shall be learned. */
export function aLearning(learning: JsonObject = {}, changed: JsonObject = {}, changes: Known<Request> = {}): Request {
  const args = { ...operation, ...changed };
  const fixed = Object.fromEntries(Object.entries(args).map(([name, value]) => [name, { const: value }]));
  const free = { text: { type: "string", minLength: 1, maxLength: 2000 }, section: { enum: ["strategies", "mistakes"] } };
  const properties = { ...fixed, ...free, applies_when: { type: "string", maxLength: 200 } };
  return aRequest({
    id: "r1", kind: "learning", title: `Learn: “${args.text}”`, thread_id: "learn-1",
    action: { name: "learn", args, schema: { type: "object", properties, required: Object.keys(args) } },
    context: {
      learning: {
        insight: "i1", type: "new_strategy", why: "The joint opened.", source_bullet_id: null, evidence: [], similar: [],
        feedback: { source: "self", verdict: "unknown", text: "", by: null }, tokens: 14, room: 7000, before: null, playbook: "engrammer", version: 3,
        renewed: null, question: "How do I clamp a tenon?", answer: "First the cheeks.", thread_id: "learn-1", run_id: "run-1", ...learning,
      },
    },
    ...changes,
  });
}
