import { isEqual, isObject, type Json } from "../api/types";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/json-value";
import { MarkedText } from "../widgets/marked-text";
import { TextDiff, commonEnds } from "./text-diff";

/** A path at which two JSON values differ; `undefined` means that the side has no value there. */
interface Difference {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

const isPlain = /^[A-Za-z_]\w*$/;

function childPath(path: string, key: string): string {
  if (!isPlain.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path ? `${path}.${key}` : key;
}

/** Compare two lists. An inserted item is one difference and does not shift the items after it. */
function listDifferences(before: Json[], after: Json[], path: string): Difference[] {
  const [start, end] = commonEnds(before, after);
  const [old, next] = [before.slice(start, before.length - end), after.slice(start, after.length - end)];
  return Array.from({ length: Math.max(old.length, next.length) }, (_, index) =>
    differences(old[index], next[index], `${path}[${start + index}]`)).flat();
}

export function differences(before: Json | undefined, after: Json | undefined, path = ""): Difference[] {
  if (isEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return listDifferences(before, after, path);
  if (!isObject(before) || !isObject(after)) return [{ path, before, after }];
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].flatMap((key) => differences(before[key], after[key], childPath(path, key)));
}

export interface ValueDiffProps {
  before: Json | undefined;
  after: Json | undefined;
  /** Formats a value; JSON by default. */
  format?: ((value: Json) => string) | undefined;
}

const maxInlineLength = 40;
const isLong = (text: string) => text.length > maxInlineLength || text.includes("\n");
const isNested = (value: Json | undefined) => typeof value === "object" && value !== null;

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
