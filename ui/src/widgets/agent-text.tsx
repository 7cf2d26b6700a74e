import { useStrings } from "../strings";
import { visible, visibleJson } from "./visible";

/** An agent's text: never HTML, links or images, and with hidden characters escaped. */
export function AgentText({ text }: { text: string }) {
  return <span className="agent-text">{visible(text)}</span>;
}

/** Show a text with its hidden characters escaped beside its editor; nothing if there are none. */
export function HiddenCharacters({ text }: { text: string }) {
  const strings = useStrings();
  if (visible(text) === text) return null;
  return <div className="quiet" data-testid="hidden-characters">{strings.hiddenCharacters} <JsonValue value={text} /></div>;
}

export function JsonValue({ value, testId }: { value: unknown; testId?: string }) {
  return <code className="json" data-testid={testId}>{visibleJson(value)}</code>;
}
