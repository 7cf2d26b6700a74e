import { Tag } from "antd";
import { useStrings } from "../strings";
import { Link, requestPath } from "../base/router";
import { visible, visibleJson } from "../base/visible";
import { CopyButton } from "../widgets/copy-button";
import { Disclosure } from "../widgets/disclosure";
import { TruncatedText } from "./truncated-text";
import type { ItemOf } from "./stream";
import { useDuration } from "../widgets/time-format";
import { useWaiting } from "./use-waiting";

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
export function CustomEvent({ item }: { item: ItemOf<"custom"> }) {
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
