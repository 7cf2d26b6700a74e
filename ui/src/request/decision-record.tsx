import { Alert, Descriptions, Tag } from "antd";
import { Suspense } from "react";
import { type Request, type Response, isEqual, isObject } from "../api/types";
import { renderedFields } from "../form/schema-field";
import { ValueDiff } from "../form/value-diff";
import { isFile } from "../form/values";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { JsonValue } from "../widgets/json-value";
import { lazyWithRetry } from "../base/browser";
import { Link, requestPath } from "../base/router";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";
import { useRequestOutcome, OutcomeLines } from "./request-outcome";

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

/** The later calls that the answer approves too, or the approval in advance that answered. */
function GrantLines({ response: { grant, grant_use: use } }: { response: Response }) {
  const { granting, language } = useRequestStrings();
  return (
    <>
      {grant && <div data-testid="grant-made">{granting.made(visible(grant.tool), grant.max_uses, clock(grant.until, language))} <Link to="/grants">{granting.revoke}</Link></div>}
      {use && <div data-testid="grant-used">{granting.used(use.number)} <Link to={requestPath(use.id)}>{granting.usedLink}</Link></div>}
    </>
  );
}

/** Say that the request was a check, whether it was noticed, and what was wrong. */
function CheckResult({ result }: { result: Request["check_result"] }) {
  const { voting: { check } } = useRequestStrings();
  if (!result) return null;
  const { caught, because } = result;
  const title = caught === null ? check.unanswered : caught ? check.caught : check.missed;
  return (
    <Alert
      type={caught ? "success" : "warning"} showIcon title={title} data-testid="check-result"
      description={<>{because && <p><AgentText text={check.because(because)} /></p>}<p className="quiet">{check.never}</p></>}
    />
  );
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
      <CheckResult result={request.check_result} />
      <Tag variant="outlined" color={response ? colours[response.decision] : "default"}>{ending?.title}</Tag>
      {response?.override && <Tag color="warning" data-testid="overridden">{strings.voting.overridden(visible(response.override))}</Tag>}
      {response && <GrantLines response={response} />}
      {response?.ended_rules && response.ended_rules.length > 0 && <Link to="/grants">{strings.granting.endedRules}</Link>}
      {ending && ending.lines.length > 0 && <div className="quiet text-lines"><OutcomeLines lines={ending.lines} /></div>}
      {rows.length > 0 && <Descriptions bordered size="small" column={1} items={rows} className="facts" />}
    </section>
  );
}
