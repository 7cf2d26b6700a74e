import { Button, Input } from "antd";
import { useId, useState, type AriaAttributes, type KeyboardEvent } from "react";
import type { Json } from "../api/types";
import { plainDigits, sumOf } from "../base/numbers";
import { type RequestStrings, useRequestStrings } from "../strings/detail";
import { type Unread, isUnread, type Reading, notationOf, readNumber, writeNumber, lossText, means, type Notation } from "./number-text";

/** Return the notation of the browser's first language, whatever the language of the page is. */
const browserNotation = () => notationOf(navigator.languages[0] ?? navigator.language);

interface NumberInputProps {
  id?: string;
  value: Json | undefined;
  /** A text that is not one number yet is handed over as typed: it must not be sent. */
  onChange: (value: number | Unread | undefined) => void;
  min?: number;
  max?: number;
  isWhole?: boolean;
  step?: number;
  disabled?: boolean;
  aria?: AriaAttributes;
  placeholder?: string;
  onEnter?: (() => void) | undefined;
  size?: "small";
  testId?: string;
}

const literalOf = (value: number) => plainDigits(String(value));

/** Return why a text is not taken as a number, in words; null if the field allows both numbers that it can be. */
function refusalOf(reading: Reading, choices: number, bounds: string, { example }: Notation, strings: RequestStrings): string | null {
  if (reading.kind === "notation") return strings.numbers.notation(example);
  if (reading.kind === "ambiguous") return choices < 2 ? strings.numbers.allowed(bounds) : null;
  return reading.kind === "number" ? strings.numbers.allowed(bounds) : lossText(reading, strings);
}

/** A number in the notation of the browser's language, with the number that will be stored beside it. */
export function NumberInput({ id, value, onChange, min, max, isWhole = false, step = 1, disabled = false, aria, placeholder, onEnter, size, testId }: NumberInputProps) {
  const strings = useRequestStrings();
  const { numbers } = strings;
  const note = useId();
  const notation = browserNotation();
  const [typed, setTyped] = useState("");
  const written = (number: number) => (means(typed, number, notation) ? typed : writeNumber(number, notation));
  const text = isUnread(value) ? value.unread : typeof value === "number" ? written(value) : "";
  const reading = isUnread(value) ? readNumber(text, notation) : null;
  const isAllowed = (number: number) => number >= (min ?? -Infinity) && number <= (max ?? Infinity) && (!isWhole || Number.isInteger(number));
  const bounds = [isWhole && numbers.wholeNumber, (min ?? max) !== undefined && strings.range(min === undefined ? null : String(min), max === undefined ? null : String(max))].filter(Boolean).join(" · ");
  const choices = reading?.kind === "ambiguous" ? [
    { number: reading.whole, label: numbers.whole }, { number: reading.decimal, label: numbers.decimals },
  ].filter(({ number }) => isAllowed(number)) : [];
  const refusal = reading && refusalOf(reading, choices.length, bounds, notation, strings);
  const take = (number: number, source: string) => onChange(isAllowed(number) ? number : { unread: source });
  const type = (source: string) => {
    setTyped(source);
    const found = readNumber(source, notation);
    if (found.kind === "number") take(found.value, source);
    else onChange(found.kind === "empty" ? undefined : { unread: source });
  };
  const stepBy = (event: KeyboardEvent) => {
    if (disabled || isUnread(value) || event.altKey || (event.key !== "ArrowUp" && event.key !== "ArrowDown")) return;
    event.preventDefault();
    const next = sumOf([typeof value === "number" ? value : 0, event.key === "ArrowUp" ? step : -step]);
    if (isAllowed(next)) onChange(next);
  };
  return (
    <div className="number-input" data-unread={reading !== null}>
      <Input
        // oxlint-disable-next-line jsx-a11y/prefer-tag-over-role -- the browser's own number input reads the notation of the page's language
        {...aria} id={id} role="spinbutton" inputMode="decimal" autoComplete="off" size={size} data-testid={testId}
        // Read-only and not disabled, so that the number can still be selected and copied.
        readOnly={disabled} variant={disabled ? "filled" : "outlined"} status={refusal ?? aria?.["aria-invalid"] ? "error" : ""}
        value={text} placeholder={placeholder} onChange={(event) => type(event.target.value)} onKeyDown={stepBy} {...(onEnter && { onPressEnter: onEnter })}
        aria-valuenow={typeof value === "number" ? value : undefined} aria-valuetext={text || numbers.example(notation.example)}
        aria-invalid={refusal ? true : aria?.["aria-invalid"]} aria-describedby={[aria?.["aria-describedby"], note].filter(Boolean).join(" ")}
      />
      <div id={note} className="number-note quiet" aria-live="polite" data-testid="number-note">
        {!disabled && <span>{numbers.example(notation.example)}</span>}
        {typeof value === "number" && <output data-testid="stored-number">{numbers.stored(literalOf(value))}</output>}
        {refusal && <span className="error-text" data-testid="number-refused">{refusal}</span>}
        {choices.length > 0 && (
          <span className="number-choice" data-testid="which-number">
            {numbers.which} {choices.map(({ number, label }) => (
              <Button key={number} size="small" disabled={disabled} onClick={() => onChange(number)} data-value={number}>{label(literalOf(number))}</Button>
            ))}
          </span>
        )}
      </div>
    </div>
  );
}
