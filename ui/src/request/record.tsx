import { Descriptions, Tag } from "antd";
import type { Json, Request, Response } from "../api/types";
import { useStrings, type Strings } from "../strings";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { outcomeOf } from "./outcome";
import { fieldsOf, same } from "./values";

const colours = { approve: "success", edit: "processing", reject: "error", respond: "processing" } as const;

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function answers(request: Request, response: Response, strings: Strings) {
  if (response.data === undefined || response.data === null) return [];
  if (!isObject(response.data)) return [{ key: "data", label: strings.answer, children: <JsonValue value={response.data} /> }];
  const labels = new Map(fieldsOf(request).map((field) => [field.name, field.label || field.name]));
  return Object.entries(response.data).map(([name, value]) => ({
    key: `data-${name}`, label: visible(labels.get(name) ?? name), children: <JsonValue value={value} />,
  }));
}

function changes(request: Request, response: Response) {
  const before = request.action?.args ?? {};
  return Object.entries(response.args ?? {}).filter(([name, value]) => !same(before[name], value)).map(([name, value]) => ({
    key: `args-${name}`,
    label: <code>{visible(name)}</code>,
    children: <><del><JsonValue value={before[name] ?? null} /></del> → <ins><JsonValue value={value} /></ins></>,
  }));
}

/** What was decided, compact; it stays where the question was. */
export function Record({ request }: { request: Request }) {
  const strings = useStrings();
  const { response } = request;
  const message = response?.message
    ? [{ key: "message", label: strings.message, children: <AgentText text={response.message} /> }]
    : [];
  const rows = response ? [...answers(request, response, strings), ...changes(request, response), ...message] : [];
  return (
    <section className="record" data-testid="record" aria-label={strings.decision}>
      <Tag color={response ? colours[response.decision] : "default"}>{outcomeOf(request, null, strings)}</Tag>
      {request.status === "expired" && request.fallback !== undefined && request.fallback !== null && (
        <p className="quiet">{strings.fallbackUsed}</p>
      )}
      {rows.length > 0 && <Descriptions bordered size="small" column={1} items={rows} className="facts" />}
    </section>
  );
}
