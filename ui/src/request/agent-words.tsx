import { Suspense, useState } from "react";
import type { Json, JsonObject, Request } from "../api/types";
import { askedBy } from "../learning/of-request";
import { Prose } from "../thread/prose";
import { JsonValue } from "../widgets/agent-text";
import { useKeys } from "../widgets/keys";
import { later } from "../widgets/later";
import { Loading } from "../widgets/loading";
import { Capped, showRestKey } from "./capped";
import { atTheGate } from "./gate";
import { useWords } from "./words";
import type { Strings } from "../strings";

const places = new Set(["assistant", "conversation", "info", "plan", "version", "memory_category"]);
const isName = (value: Json | undefined) => typeof value === "number" || (typeof value === "string" && value.length <= 200);

/** Without where an assistant's question belongs: for programs, who reads it sees it there. */
function withoutPlace(context: JsonObject): JsonObject {
  if (!isName(context.assistant) || !isName(context.conversation)) return context;
  return Object.fromEntries(Object.entries(context).filter(([key, value]) => !(places.has(key) && isName(value))));
}

const DisplayBlocks = later(() => import("./display-blocks"));

/** What an agent says of its own work is no fact; the task that would end is shown as one elsewhere. */
function wordsOf(request: Request, strings: Strings): { summary?: string; rest: JsonObject } {
  const { kind, context } = request;
  if (askedBy(request)) {
    const { learning: _shownAsFacts, ...rest } = context;
    return { rest };
  }
  if (kind !== "finish") return { rest: withoutPlace(context) };
  const { task: _shownAsFact, summary, ...others } = context;
  const rest = typeof others.reason === "string" ? { ...others, reason: atTheGate(others.reason, request, strings) } : others;
  return typeof summary === "string" ? { summary, rest } : { rest: { ...rest, ...(summary !== undefined && { summary }) } };
}

/** Prose and context from the agent, set apart from the facts because nobody has checked them. */
export function AgentWords({ request }: { request: Request }) {
  const strings = useWords();
  const [whole, setWhole] = useState(false);
  const { summary, rest } = wordsOf(request, strings);
  const show = () => setWhole(true);
  const box = { whole, onShow: show };
  useKeys(strings.keysOfRequest, whole ? [] : [{ key: showRestKey, label: strings.showRest, run: show }]);
  return (
    <>
      {request.display && request.display.length > 0 && <Suspense fallback={<Loading />}><DisplayBlocks blocks={request.display} /></Suspense>}
      {summary && <Capped {...box} testId="summary" label={strings.summary}><Prose text={summary} /></Capped>}
      {request.description && (
        <Capped {...box} testId="agent-words" label={strings.agentSays}><Prose text={atTheGate(request.description, request, strings)} /></Capped>
      )}
      {Object.keys(rest).length > 0 && <Capped {...box} testId="context" label={strings.context}><JsonValue value={rest} /></Capped>}
      {request.fallback && request.status === "pending" && (
        <Capped {...box} testId="fallback-waiting" label={strings.fallbackWaiting}><JsonValue value={request.fallback} /></Capped>
      )}
    </>
  );
}
