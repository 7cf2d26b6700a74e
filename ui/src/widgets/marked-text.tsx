import { createElement, type ReactNode } from "react";
import { mixedWords } from "../base/visible";
import { useStrings } from "../strings";

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
