import { mixedWords, visible } from "../base/visible";
import { useStrings } from "../strings";
import { JsonValue } from "./json-value";

/** Show a text beside its editor, with hidden characters escaped and mixed alphabets marked; nothing if it has neither. */
export function HiddenCharacters({ text }: { text: string }) {
  const strings = useStrings();
  const [mixed] = mixedWords(text);
  if (visible(text) === text && !mixed) return null;
  const label = visible(text) === text && mixed ? `${strings.mixedAlphabets(mixed.letters)}:` : strings.hiddenCharacters;
  return <div className="quiet" data-testid="hidden-characters">{label} <JsonValue value={text} /></div>;
}
