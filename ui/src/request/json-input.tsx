import { Input } from "antd";
import { useState } from "react";
import type { Json } from "../api/types";
import { useStrings } from "../strings";

interface JsonInputProps {
  id: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  disabled: boolean;
}

/** A JSON editor; it reports `undefined` while the text is no JSON. */
export function JsonInput({ id, value, onChange, disabled }: JsonInputProps) {
  const strings = useStrings();
  const [text, setText] = useState(() => JSON.stringify(value, null, 2) ?? "");
  const [error, setError] = useState<string | null>(null);

  const change = (typed: string) => {
    setText(typed);
    try {
      onChange(JSON.parse(typed) as Json);
      setError(null);
    } catch (failure) {
      onChange(undefined);
      setError(strings.badJson(failure instanceof Error ? failure.message : String(failure)));
    }
  };
  return (
    <>
      <Input.TextArea
        id={id} value={text} disabled={disabled} className="mono" spellCheck={false} autoSize={{ minRows: 3, maxRows: 20 }}
        status={error ? "error" : ""} aria-invalid={Boolean(error)} aria-describedby={`${id}-json`}
        onChange={(event) => change(event.target.value)}
      />
      <div id={`${id}-json`} role="alert" className="error-text" data-testid="json-error">{error}</div>
    </>
  );
}
