import { Button } from "antd";
import { createElement } from "react";
import type { Json } from "../api/types";
import { JsonValue } from "../widgets/agent-text";
import { visible } from "../widgets/visible";
import { differences, textPieces, type Difference, type Piece } from "./diff";
import { useWords } from "./words";

interface ChangeProps {
  before: Json | undefined;
  after: Json | undefined;
  /** How a value is written; as JSON unless told. */
  write?: ((value: Json) => string) | undefined;
}

const longest = 40;
const isLong = (text: string) => text.length > longest || text.includes("\n");
const isNested = (value: Json | undefined) => typeof value === "object" && value !== null;

const tags = { kept: "span", gone: "del", new: "ins" } as const satisfies Record<Piece["kind"], string>;

/** A long text word by word: what goes and what comes. */
export function TextChange({ before, after }: { before: string; after: string }) {
  const pieces = textPieces(before, after).map(({ kind, text }) => createElement(tags[kind], null, visible(text)));
  return createElement("span", { className: "agent-text" }, ...pieces);
}

function Side({ value, write }: { value: Json; write: ChangeProps["write"] }) {
  return write ? <span>{visible(write(value))}</span> : <JsonValue value={value} />;
}

function PlainChange({ before, after, write }: ChangeProps) {
  const strings = useWords();
  return (
    <span className="change-values">
      <del>{before === undefined ? strings.notSet : <Side value={before} write={write} />}</del>
      <span>→</span>
      <ins>{after === undefined ? strings.notSet : <Side value={after} write={write} />}</ins>
    </span>
  );
}

function PlaceChange({ path, before, after }: Difference) {
  const strings = useWords();
  if (before !== undefined && after !== undefined) {
    return <><code>{visible(path)}</code> <PlainChange before={before} after={after} /></>;
  }
  const [word, value] = before === undefined ? [strings.added, after] : [strings.removed, before];
  const shown = <JsonValue value={value} />;
  return (
    <>
      <code>{visible(path)}</code> <span className="quiet">{word}</span>
      {" "}{before === undefined ? <ins>{shown}</ins> : <del>{shown}</del>}
    </>
  );
}

/** What a value was and what it becomes: nested values place by place, long texts word by word. */
export function Change({ before, after, write }: ChangeProps) {
  if (!write && isNested(before) && isNested(after)) {
    const places = differences(before, after);
    if (places[0]?.path) {
      return <ul className="places">{places.map((place) => <li key={place.path}><PlaceChange {...place} /></li>)}</ul>;
    }
  }
  if (!write && typeof before === "string" && typeof after === "string" && isLong(before + after)) {
    return <TextChange before={before} after={after} />;
  }
  return <PlainChange before={before} after={after} write={write} />;
}

interface ChangeLineProps extends ChangeProps {
  name: string;
  onReset: () => void;
  disabled: boolean;
}

/** A change with the way back. */
export function ChangeLine({ name, onReset, disabled, ...change }: ChangeLineProps) {
  const strings = useWords();
  return (
    <div className="change" data-testid={`change-${name}`}>
      <div><Change {...change} /></div>
      <Button
        type="link" size="small" onClick={onReset} disabled={disabled} aria-label={strings.resetNamed(visible(name))}
      >
        {strings.reset}
      </Button>
    </div>
  );
}
