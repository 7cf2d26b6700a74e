import { Button } from "antd";
import { Suspense, useEffect, useRef, useState, type ReactNode } from "react";
import type { Json, JsonObject, Request } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import type { Strings } from "../strings";
import { translated } from "../strings/catalogue";
import { useRequestStrings } from "../strings/detail";
import { showMoreKey, useExpansion } from "../values/expansion";
import { Prose } from "../values/prose";
import { JsonValue } from "../widgets/json-value";
import { Loading } from "../widgets/loading";
import { ArgumentList } from "./argument-list";
import { declaredCard } from "./card";
import { withoutClient, splitBlocks } from "./client-call";
import { learningProposalOf } from "./learning-proposal";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });

/** Return the start of a text up to a number of words, and the number of words in it. */
export function firstWords(text: string, most: number): { start: string; words: number; isWhole: boolean } {
  let words = 0;
  for (const { index, isWordLike } of segmenter.segment(text)) {
    if (!isWordLike) continue;
    if (words === most) return { start: `${text.slice(0, index).trimEnd()}…`, words, isWhole: false };
    words += 1;
  }
  return { start: text, words, isWhole: true };
}

/** The words of the agent before a person asks for more: a decision is made by the facts. */
const maxWords = 60;

function useOverflow() {
  const area = useRef<HTMLDivElement>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const element = area.current;
    if (!element) return undefined;
    const measure = () => setOverflows(element.scrollHeight > element.clientHeight + 1);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    for (const child of Array.from(element.children)) observer.observe(child);
    return () => observer.disconnect();
  });
  return { area, overflows };
}

interface CollapsibleTextProps {
  label: string;
  testId: string;
  isExpanded: boolean;
  onExpand: () => void;
  /** True if the text has more words than these. */
  hasMore?: boolean;
  children: ReactNode;
}

/** Text of an agent in a quiet box; a long one is cut and has a button to show the rest. */
function CollapsibleText({ label, testId, isExpanded, onExpand, hasMore = false, children }: CollapsibleTextProps) {
  const strings = useRequestStrings();
  const { area, overflows } = useOverflow();
  const isShortened = (overflows || hasMore) && !isExpanded;
  return (
    <aside className="agent-context" data-testid={testId} aria-label={label}>
      <div className="quiet">{label}</div>
      <div ref={area} className={isExpanded ? undefined : "collapsible-text"} data-cut={isShortened}>{children}</div>
      {isShortened && (
        <Button size="small" type="link" onClick={onExpand} data-testid="show-rest">
          {strings.showFullText}<kbd className="key-hint" aria-hidden="true">{showMoreKey}</kbd>
        </Button>
      )}
    </aside>
  );
}

const assistantKeys = new Set(["assistant", "conversation", "info", "plan", "version", "memory_category"]);
const isName = (value: Json | undefined) => typeof value === "number" || (typeof value === "string" && value.length <= 200);

/** Remove the keys that link an assistant's question to its conversation; they are for programs. */
function withoutAssistantKeys(context: JsonObject): JsonObject {
  if (!isName(context.assistant) || !isName(context.conversation)) return context;
  return Object.fromEntries(Object.entries(context).filter(([key, value]) => !(assistantKeys.has(key) && isName(value))));
}

/** Remove the id of the model's tool call, which links the request to its message. */
function withoutCallId(context: JsonObject): JsonObject {
  const { tool_call_id: id, ...rest } = context;
  return isName(id) ? rest : context;
}

/** A declared card is shown with the facts; another one is the agent's own text. */
function withoutCard(request: Request, context: JsonObject): JsonObject {
  const { card: _inEffectLine, ...rest } = context;
  return declaredCard(request) ? rest : context;
}

const DisplayBlocks = lazyWithRetry(() => import("./display-blocks"));

/** Return the agent's own text and context. The task of a finish request is shown as a fact elsewhere. */
function agentTextOf(request: Request, strings: Strings): { summary?: string; rest: JsonObject } {
  const { kind } = request;
  const context = withoutCallId(withoutCard(request, withoutClient(request)));
  if (learningProposalOf(request)) {
    const { learning: _shownAsFacts, ...rest } = context;
    return { rest };
  }
  if (kind !== "finish") return { rest: withoutAssistantKeys(context) };
  const { task: _shownAsFact, summary, ...others } = context;
  const rest = typeof others.reason === "string" ? { ...others, reason: translated(others.reason, request.wording, "reason", strings) } : others;
  return typeof summary === "string" ? { summary, rest } : { rest: { ...rest, ...(summary !== undefined && { summary }) } };
}

/** Show text and context from the agent apart from the facts, because nobody has checked them. */
export function AgentContext({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { summary, rest } = agentTextOf(request, strings);
  const expansion = { isExpanded: level > 0, onExpand: expand };
  const { others } = splitBlocks(request);
  const words = request.description && translated(request.description, request.wording, "description", strings);
  const most = level > 0 ? Number.POSITIVE_INFINITY : maxWords;
  const startOfSummary = firstWords(summary ?? "", most);
  const startOfWords = firstWords(words ?? "", most - startOfSummary.words);
  return (
    <>
      {others.length > 0 && <Suspense fallback={<Loading />}><DisplayBlocks blocks={others} /></Suspense>}
      {summary && (
        <CollapsibleText {...expansion} hasMore={!startOfSummary.isWhole} testId="summary" label={strings.summary}><Prose text={startOfSummary.start} /></CollapsibleText>
      )}
      {words && (
        <CollapsibleText {...expansion} hasMore={!startOfWords.isWhole} testId="agent-words" label={strings.agentText}><Prose text={startOfWords.start} /></CollapsibleText>
      )}
      {Object.keys(rest).length > 0 && <CollapsibleText {...expansion} testId="context" label={strings.context}><ArgumentList args={rest} schema={null} place="context" /></CollapsibleText>}
      {request.fallback && request.status === "pending" && (
        <CollapsibleText {...expansion} testId="fallback-waiting" label={strings.fallbackValue}><JsonValue value={request.fallback} /></CollapsibleText>
      )}
    </>
  );
}
