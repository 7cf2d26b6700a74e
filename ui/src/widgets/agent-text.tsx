import { createElement, type ReactNode } from "react";
import { useStrings } from "../strings";
import { mixedWords } from "../base/alphabets";
import { visible, visibleJson } from "../base/visible";

/** A visible text in which words of mixed alphabets are marked: on hover and to screen readers it names the letters. */
export function MarkedText({ text }: { text: string }) {
  const { mixedAlphabets } = useStrings();
  const words = mixedWords(text);
  if (words.length === 0) return text;
  const parts = words.flatMap(({ at, text: word, letters }, index): ReactNode[] => {
    const previous = words[index - 1];
    const note = mixedAlphabets(letters);
    return [
      text.slice(previous ? previous.at + previous.text.length : 0, at),
      <mark key={at} className="mixed-alphabets" title={note}>{word}<span className="visually-hidden"> ({note})</span></mark>,
    ];
  });
  const last = words.at(-1);
  return createElement("span", null, ...parts, last && text.slice(last.at + last.text.length));
}

/** An agent's text: never HTML, links or images, with hidden characters escaped and mixed alphabets marked. */
export function AgentText({ text }: { text: string }) {
  return <span className="agent-text"><MarkedText text={visible(text)} /></span>;
}

/** Show a text beside its editor, with hidden characters escaped and mixed alphabets marked; nothing if it has neither. */
export function HiddenCharacters({ text }: { text: string }) {
  const strings = useStrings();
  const [mixed] = mixedWords(text);
  if (visible(text) === text && !mixed) return null;
  const label = visible(text) === text && mixed ? `${strings.mixedAlphabets(mixed.letters)}:` : strings.hiddenCharacters;
  return <div className="quiet" data-testid="hidden-characters">{label} <JsonValue value={text} /></div>;
}

export function JsonValue({ value, testId }: { value: unknown; testId?: string }) {
  return <code className="json" data-testid={testId}><MarkedText text={visibleJson(value)} /></code>;
}
