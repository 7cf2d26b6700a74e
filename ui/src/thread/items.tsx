import { Alert, Tag } from "antd";
import { memo } from "react";
import { RequestDetail } from "../request/request-detail";
import { useStrings } from "../strings";
import { AgentText } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import type { Item } from "./reduce";

type Of<Kind extends Item["kind"]> = Extract<Item, { kind: Kind }>;

function Message({ item }: { item: Of<"message"> }) {
  return (
    <div className={`message ${item.role === "user" ? "of-user" : ""}`} data-testid="message" data-role={item.role} aria-busy={item.open}>
      <AgentText text={item.text} />
    </div>
  );
}

function Tool({ item }: { item: Of<"tool"> }) {
  const strings = useStrings();
  return (
    <details className="compact" data-testid="tool-call">
      <summary>{strings.tool} <code>{visible(item.name)}</code>{item.result === null ? " …" : ""}</summary>
      <code className="json">{visible(item.args)}</code>
      {item.result !== null && <div>{strings.result}: <code className="json">{visible(item.result)}</code></div>}
    </details>
  );
}

function Pause({ item }: { item: Of<"pause"> }) {
  return (
    <>
      {item.requests.map((id) => (
        <section key={id} className="pause" data-testid="pause"><RequestDetail id={id} inThread /></section>
      ))}
    </>
  );
}

function Mark({ text }: { text: string }) {
  return <div className="mark quiet">{text}</div>;
}

/** One thing in a thread's column. */
export const ThreadItem = memo(function ThreadItem({ item }: { item: Item }) {
  const strings = useStrings();
  switch (item.kind) {
    case "message":
      return <Message item={item} />;
    case "tool":
      return <Tool item={item} />;
    case "pause":
      return <Pause item={item} />;
    case "step":
      return <div className="compact" data-testid="step"><Tag>{strings.step}</Tag>{visible(item.name)}{item.open ? " …" : ""}</div>;
    case "run":
      return <Mark text={strings.runStarted} />;
    case "end":
      return <Mark text={item.cancelled ? strings.runCancelled : strings.runEnded} />;
    case "error":
      return <Alert type="error" showIcon title={strings.runFailed} description={<AgentText text={item.message} />} data-testid="run-error" />;
  }
});
