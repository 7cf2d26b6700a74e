import { visible, visibleJson } from "./visible";

/** Text that an agent wrote: never HTML, never a link or an image, and nothing in it is invisible. */
export function AgentText({ text }: { text: string }) {
  return <span className="agent-text">{visible(text)}</span>;
}

export function JsonValue({ value, testId }: { value: unknown; testId?: string }) {
  return <code className="json" data-testid={testId}>{visibleJson(value)}</code>;
}
