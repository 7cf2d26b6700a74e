import { Descriptions, Tag } from "antd";
import { Suspense } from "react";
import type { Request, Response } from "../api/types";
import { renderedFields } from "../form/schema-field";
import { ValueDiff } from "../form/value-diff";
import { isEqual, isFile, isObject } from "../form/values";
import { useRequestStrings, type RequestStrings } from "../strings/use-request-strings";
import { AgentText, JsonValue } from "../widgets/agent-text";
import { lazyWithRetry } from "../widgets/lazy";
import { visible } from "../widgets/visible";
import { OutcomeLines, useRequestOutcome } from "./ending";

const AttachedFile = lazyWithRetry(() => import("../form/attachments").then((module) => ({ default: module.AttachedFile })));

const colours = { approve: "success", edit: "processing", reject: "error", respond: "processing" } as const;

function answers(request: Request, response: Response, strings: RequestStrings) {
  if (response.data === undefined || response.data === null) return [];
  if (!isObject(response.data)) {
    return [{ key: "data", label: strings.answer, children: <JsonValue value={response.data} /> }];
  }
  const fileFields = new Set(renderedFields(request).filter(({ type }) => type === "attachment").map(({ name }) => name));
  const labels = new Map(renderedFields(request).map((field) => [field.name, field.label || field.name]));
  return Object.entries(response.data).map(([name, value]) => ({
    key: `data-${name}`, label: visible(labels.get(name) ?? name),
    children: fileFields.has(name) && isFile(value)
      ? <Suspense fallback={visible(value.name)}><AttachedFile id={request.id} file={value} /></Suspense>
      : <JsonValue value={value} />,
  }));
}

function changes(request: Request, response: Response) {
  const before = request.action?.args ?? {};
  const changed = Object.entries(response.args ?? {}).filter(([name, value]) => !isEqual(before[name], value));
  return changed.map(([name, value]) => ({
    key: `args-${name}`, label: <code>{visible(name)}</code>, children: <ValueDiff before={before[name]} after={value} />,
  }));
}

/** A compact record of the decision, shown in place of the request's form. */
export function DecisionRecord({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { response } = request;
  const ending = useRequestOutcome(request, null);
  const message = response?.message
    ? [{ key: "message", label: strings.message, children: <AgentText text={response.message} /> }]
    : [];
  const rows = response ? [...answers(request, response, strings), ...changes(request, response), ...message] : [];
  return (
    <section className="decision-record" data-testid="record" aria-label={strings.decision}>
      <Tag variant="outlined" color={response ? colours[response.decision] : "default"}>{ending?.title}</Tag>
      {ending && ending.lines.length > 0 && <div className="quiet text-lines"><OutcomeLines lines={ending.lines} /></div>}
      {rows.length > 0 && <Descriptions bordered size="small" column={1} items={rows} className="facts" />}
    </section>
  );
}
