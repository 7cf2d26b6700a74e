import { useQueries } from "@tanstack/react-query";
import { Button, Tag, Alert, Divider } from "antd";
import { useState } from "react";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import { Link, requestPath } from "../base/router";
import { visible, visibleJson } from "../base/visible";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { Prose } from "../values/prose";
import { CopyButton } from "../widgets/copy-button";
import { Disclosure } from "../widgets/disclosure";
import { useDuration, dayAndTime } from "../widgets/time-format";
import { FailureReason } from "./failure-reason";
import { MessageImages } from "./message-images";
import type { ItemOf, Item } from "./stream";

const maxLength = 4_000;

/** A readable text; a very long one shows its beginning first. */
function TruncatedText({ text }: { text: string }) {
  const strings = useStrings();
  const [isExpanded, setExpanded] = useState(false);
  const isShortened = !isExpanded && text.length > maxLength;
  return (
    <>
      <code className="json">{isShortened ? `${text.slice(0, maxLength)}…` : text}</code>
      {isShortened && <Button size="small" type="link" onClick={() => setExpanded(true)}>{strings.showAll(text.length)}</Button>}
    </>
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Return whether a request asks about this call: the order of the arguments does not count. */
function asksAbout({ action }: Request, { name, args }: ItemOf<"tool">): boolean {
  const sent = Object(parse(args)) as { [key: string]: unknown };
  const names = Object.keys(action?.args ?? {});
  return action?.name === name && names.length === Object.keys(sent).length && names.every((key) => JSON.stringify(action.args[key]) === JSON.stringify(sent[key]));
}

/** Return whether a call without a result waits for a person, and the request if it is known which one. */
function useWaiting(item: ItemOf<"tool">): { isWaiting: boolean; request: string | undefined } {
  const isOpen = item.result === null && item.until === null;
  return useQueries({
    queries: isOpen ? (item.waits ?? []).map(requestQuery) : [],
    combine: (all) => {
      const pending = all.flatMap(({ data }) => (data?.status === "pending" ? [data] : []));
      const request = pending.find((one) => asksAbout(one, item)) ?? (pending.length === 1 ? pending[0] : undefined);
      // A request that this person may not read waits too.
      return { isWaiting: all.some(({ data }) => !data || data.status === "pending"), request: request?.id };
    },
  });
}

/** A message of the agent or of a person. */
function Message({ item }: { item: ItemOf<"message"> }) {
  const strings = useStrings();
  const fromUser = item.role === "user";
  return (
    <div className={fromUser ? "message of-user" : "message"}>
      {fromUser && <div className="quiet">{strings.userInput}</div>}
      <div data-testid="message" data-role={item.role} aria-busy={item.open}><Prose text={item.text} /></div>
      {!item.open && item.text !== "" && <CopyButton text={item.text} />}
      {item.images && <MessageImages images={item.images} />}
    </div>
  );
}

/** Return JSON in readable form; any other text is returned unchanged. */
function readable(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? visible(value) : visibleJson(value);
  } catch {
    return visible(text);
  }
}

const inOneLine = (text: string) => visible(text).replace(/\s+/g, " ").slice(0, 200);

function State({ item, isWaiting }: { item: ItemOf<"tool">; isWaiting: boolean }) {
  const strings = useStrings();
  const duration = useDuration();
  if (isWaiting) return <Tag color="warning" variant="outlined" data-testid="tool-waits">{strings.toolWaits}</Tag>;
  if (item.result === null && item.until !== null) return <span className="quiet">{strings.toolNoResult}</span>;
  if (item.result === null) return <span className="quiet">{item.open ? strings.toolStarting : strings.toolRunning}</span>;
  const elapsed = item.at !== null && item.until !== null ? duration(item.until - item.at) : strings.toolCompleted;
  return <span className="quiet">{elapsed}</span>;
}

function Part({ label, text }: { label: string; text: string }) {
  return (
    <section aria-label={label}>
      <div className="quiet">{label} <CopyButton text={text} /></div>
      <TruncatedText text={readable(text)} />
    </section>
  );
}

/** A tool call in one line; its arguments and its result can be opened. */
export function ToolCall({ item }: { item: ItemOf<"tool"> }) {
  const strings = useStrings();
  const { isWaiting, request } = useWaiting(item);
  const summary = (
    <>
      <span className="disclosure-summary">
        <span className="quiet">{strings.tool}</span> <code>{visible(item.name)}({inOneLine(item.args)})</code>
      </span>
      <State item={item} isWaiting={isWaiting} />
    </>
  );
  return (
    <>
      <Disclosure id={`tool-${item.key}`} summary={summary} testId="tool-call">
        <Part label={strings.toolArguments} text={item.args} />
        {item.result !== null && <Part label={strings.toolResult} text={item.result} />}
      </Disclosure>
      {isWaiting && request !== undefined && <Link to={requestPath(request)} testId="tool-request">{strings.toolRequest}</Link>}
    </>
  );
}

/** A custom event of the agent. */
function CustomEvent({ item }: { item: ItemOf<"custom"> }) {
  const strings = useStrings();
  const text = JSON.stringify(item.value, null, 2);
  // The item that an erasure left in place of the content.
  if (item.name === "erased") return <p className="quiet" data-testid="erased-items">{strings.itemsErased}</p>;
  const summary = (
    <span className="disclosure-summary">
      <span className="quiet">{strings.custom}</span> <code>{visible(item.name)} {inOneLine(JSON.stringify(item.value))}</code>
    </span>
  );
  return (
    <Disclosure id={`custom-${item.key}`} summary={summary} testId="custom-event">
      <Part label={strings.customValue} text={text} />
    </Disclosure>
  );
}

function RunDivider({ label, at }: { label: string; at: number | null }) {
  const { language } = useStrings();
  const when = at === null ? "" : ` · ${dayAndTime(at, language)}`;
  return <Divider plain titlePlacement="start" size="small" data-testid="run-divider">{label}{when}</Divider>;
}

function End({ item }: { item: ItemOf<"end"> }) {
  const strings = useStrings();
  const duration = useDuration();
  const label = item.cancelled ? strings.runCancelled : strings.runEnded;
  const elapsed = item.at !== null && item.since !== null ? strings.afterDuration(duration(item.at - item.since)) : "";
  return <RunDivider label={[label, elapsed].filter(Boolean).join(" ")} at={item.at} />;
}

function Pause({ item }: { item: ItemOf<"pause"> }) {
  return item.requests.map((id) => (
    <section key={id} className="pause" data-testid="pause"><RequestDetail id={id} isInThread /></section>
  ));
}

export function ItemBody({ item }: { item: Item }) {
  const strings = useStrings();
  switch (item.kind) {
    case "message":
      return <Message item={item} />;
    case "tool":
      return <ToolCall item={item} />;
    case "custom":
      return <CustomEvent item={item} />;
    case "pause":
      return <Pause item={item} />;
    case "step":
      return (
        <div data-testid="step">
          <span className="quiet">{strings.step}</span> {visible(item.name)}{item.open && <span className="quiet"> {strings.toolRunning}</span>}
        </div>
      );
    case "run":
      return <RunDivider label={strings.runStartReasons[item.reason]} at={item.at} />;
    case "end":
      return <End item={item} />;
    case "error":
      return (
        <Alert type="error" showIcon title={strings.runFailed} description={<FailureReason why={item.message} />} data-testid="run-error" />
      );
  }
}
