import { Button } from "antd";
import { createElement } from "react";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { JsonValue, MarkedText } from "../widgets/agent-text";
import { visible } from "../base/visible";
import { differences, textSegments, type Difference, type TextSegment } from "./diff";

interface ValueDiffProps {
  before: Json | undefined;
  after: Json | undefined;
  /** Formats a value; JSON by default. */
  format?: ((value: Json) => string) | undefined;
}

const maxInlineLength = 40;
const isLong = (text: string) => text.length > maxInlineLength || text.includes("\n");
const isNested = (value: Json | undefined) => typeof value === "object" && value !== null;

const tags = { unchanged: "span", removed: "del", added: "ins" } as const satisfies Record<TextSegment["kind"], string>;

/** A word-by-word difference of two long texts. */
export function TextDiff({ before, after }: { before: string; after: string }) {
  const pieces = textSegments(before, after).map(({ kind, text }) => createElement(tags[kind], null, <MarkedText text={visible(text)} />));
  return createElement("span", { className: "agent-text" }, ...pieces);
}

function DiffValue({ value, write }: { value: Json; write: ValueDiffProps["format"] }) {
  return write ? <span><MarkedText text={visible(write(value))} /></span> : <JsonValue value={value} />;
}

function Replacement({ before, after, format }: ValueDiffProps) {
  const strings = useRequestStrings();
  return (
    <span className="value-diff-inline">
      <del>{before === undefined ? strings.notSet : <DiffValue value={before} write={format} />}</del>
      <span>→</span>
      <ins>{after === undefined ? strings.notSet : <DiffValue value={after} write={format} />}</ins>
    </span>
  );
}

function PathDiff({ path, before, after }: Difference) {
  const strings = useRequestStrings();
  if (before !== undefined && after !== undefined) {
    return <><code>{visible(path)}</code> <Replacement before={before} after={after} /></>;
  }
  const [label, value] = before === undefined ? [strings.added, after] : [strings.removed, before];
  const json = <JsonValue value={value} />;
  return (
    <>
      <code>{visible(path)}</code> <span className="quiet">{label}</span>
      {" "}{before === undefined ? <ins>{json}</ins> : <del>{json}</del>}
    </>
  );
}

/** The difference of two values: nested values by path, long texts word by word. */
export function ValueDiff({ before, after, format }: ValueDiffProps) {
  if (!format && isNested(before) && isNested(after)) {
    const places = differences(before, after);
    if (places[0]?.path) {
      return <ul className="path-diffs">{places.map((place) => <li key={place.path}><PathDiff {...place} /></li>)}</ul>;
    }
  }
  if (!format && typeof before === "string" && typeof after === "string" && isLong(before + after)) {
    return <TextDiff before={before} after={after} />;
  }
  return <Replacement before={before} after={after} format={format} />;
}

interface ValueDiffLineProps extends ValueDiffProps {
  name: string;
  onReset: () => void;
  disabled: boolean;
}

/** A difference with a reset button. */
export function ValueDiffLine({ name, onReset, disabled, ...change }: ValueDiffLineProps) {
  const strings = useRequestStrings();
  return (
    <div className="value-diff" data-testid={`change-${name}`}>
      <div><ValueDiff {...change} /></div>
      <Button
        type="link" size="small" onClick={onReset} disabled={disabled} aria-label={strings.resetField(visible(name))}
      >
        {strings.reset}
      </Button>
    </div>
  );
}
