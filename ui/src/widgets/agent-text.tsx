import { useStrings } from "../strings";
import { visible, visibleJson } from "./visible";

/** Text that an agent wrote: never HTML, never a link or an image, and nothing in it is invisible. */
export function AgentText({ text }: { text: string }) {
  return <span className="agent-text">{visible(text)}</span>;
}

/** Beside an editor, whose text cannot be escaped: the same text with what hides in it; nothing where nothing hides. */
export function HiddenCharacters({ text }: { text: string }) {
  const strings = useStrings();
  if (visible(text) === text) return null;
  return <div className="quiet" data-testid="hidden-characters">{strings.hiddenCharacters} <JsonValue value={text} /></div>;
}

export function JsonValue({ value, testId }: { value: unknown; testId?: string }) {
  return <code className="json" data-testid={testId}>{visibleJson(value)}</code>;
}
