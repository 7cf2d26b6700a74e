import { Input } from "antd";
import { getLocation, parse, printParseErrorCode, type ParseError } from "jsonc-parser";
import { useState, type AriaAttributes } from "react";
import type { Json } from "../api/types";
import { visible, visibleSource } from "../base/visible";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { HiddenCharacters } from "../widgets/hidden-characters";
import { exactly, type Reading, lossText } from "./number-text";

/** Return the first number of valid JSON whose digits would not be sent as they are written, with its place. */
export function inexactNumber(json: string): { reading: Reading; offset: number } | null {
  for (const { 0: token, index } of json.matchAll(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g)) {
    if (token.startsWith('"')) continue;
    const reading = exactly(token);
    if (reading.kind !== "number") return { reading, offset: index };
  }
  return null;
}

/** Return the value of JSON; undefined if it is not valid, or if a number would change. */
export function parseExact(json: string): Json | undefined {
  try {
    const value = JSON.parse(json) as Json;
    return inexactNumber(json) ? undefined : value;
  } catch {
    return undefined;
  }
}

interface JsonInputProps {
  id: string;
  value: Json | undefined;
  /** A typed text that is not valid JSON (yet). */
  broken: string | undefined;
  onChange: (value: Json) => void;
  onBreak: (text: string) => void;
  disabled: boolean;
  aria?: AriaAttributes;
}

const pathText = (path: readonly (string | number)[]) =>
  path.map((one) => (typeof one === "number" ? `[${one}]` : `.${one}`)).join("").replace(/^\./, "");

/** Say in words what is wrong with a text that is not JSON: the line, the column, the field and the mistake. */
export function describeJsonError(text: string, strings: RequestStrings): string {
  const errors: ParseError[] = [];
  parse(text, errors, { disallowComments: true, allowTrailingComma: false });
  const [first] = errors;
  const inexact = first ? null : inexactNumber(text);
  // What the library accepts and JSON does not, such as a text that is empty.
  const at = first?.offset ?? inexact?.offset ?? text.length;
  const before = text.slice(0, at).split("\n");
  const code = first ? printParseErrorCode(first.error) : "ValueExpected";
  const field = pathText(getLocation(text, at).path.filter((part) => part !== ""));
  const why = Object.hasOwn(strings.schema.jsonErrors, code) ? strings.schema.jsonErrors[code] : undefined;
  return strings.schema.jsonErrorAt(before.length, (before.at(-1) ?? "").length + 1, visible(field), (inexact && lossText(inexact.reading, strings)) ?? why ?? code);
}

/** A JSON editor that keeps the text as typed, valid or not. */
export function JsonInput({ id, value, broken, onChange, onBreak, disabled, aria }: JsonInputProps) {
  const strings = useRequestStrings();
  const [text, setText] = useState(() => broken ?? visibleSource(value ?? null));
  const isWrong = parseExact(text) === undefined;
  const change = (input: string) => {
    setText(input);
    const found = parseExact(input);
    if (found === undefined) onBreak(input);
    else onChange(found);
  };
  return (
    <>
      <Input.TextArea
        {...aria} id={id} value={text} readOnly={disabled} variant={disabled ? "filled" : "outlined"} className="mono"
        spellCheck={false} autoSize={{ minRows: 3, maxRows: 20 }} status={isWrong ? "error" : ""}
        aria-invalid={isWrong}
        aria-describedby={[aria?.["aria-describedby"], `${id}-json`].filter(Boolean).join(" ")}
        onChange={(event) => change(event.target.value)}
      />
      <div id={`${id}-json`} role="alert" className="error-text" data-testid="json-error">{isWrong && describeJsonError(text, strings)}</div>
      <HiddenCharacters text={text} />
    </>
  );
}
