import { Input } from "antd";
import { useState, type AriaAttributes } from "react";
import type { Json } from "../api/types";
import { HiddenCharacters } from "../widgets/agent-text";
import { visibleSource } from "../widgets/visible";
import { useRequestStrings } from "./strings";

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

function errorOf(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (failure) {
    return failure instanceof Error ? failure.message : String(failure);
  }
}

/** A JSON editor that keeps the text as typed, valid or not. */
export function JsonInput({ id, value, broken, onChange, onBreak, disabled, aria }: JsonInputProps) {
  const strings = useRequestStrings();
  const [text, setText] = useState(() => broken ?? visibleSource(value ?? null));
  const error = errorOf(text);
  const change = (input: string) => {
    setText(input);
    if (errorOf(input) === null) onChange(JSON.parse(input) as Json);
    else onBreak(input);
  };
  return (
    <>
      <Input.TextArea
        {...aria} id={id} value={text} readOnly={disabled} variant={disabled ? "filled" : "outlined"} className="mono"
        spellCheck={false} autoSize={{ minRows: 3, maxRows: 20 }} status={error ? "error" : ""}
        aria-invalid={Boolean(error)}
        aria-describedby={[aria?.["aria-describedby"], `${id}-json`].filter(Boolean).join(" ")}
        onChange={(event) => change(event.target.value)}
      />
      <div id={`${id}-json`} role="alert" className="error-text" data-testid="json-error">
        {error && strings.invalidJson(error)}
      </div>
      <HiddenCharacters text={text} />
    </>
  );
}
