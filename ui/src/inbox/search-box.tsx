import type { InputRef } from "antd";
// Imported alone: the full Input would also load text areas and passwords.
import Input from "antd/es/input/Input";
import { useEffect, useRef, useState, type KeyboardEvent, type Ref } from "react";
import type { Filters } from "../api/lists";
import { useStrings } from "../strings";
import { applyFilters } from "./inbox-url";

const pause = 250;

/** Put the typed text into the URL after a pause, but not while an input method is composing. */
function useSearchText({ q = "", ...rest }: Filters): [string, (text: string, composing: boolean) => void] {
  const [text, setText] = useState(q);
  const [lastQuery, setLastQuery] = useState(q);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  if (lastQuery !== q) {
    setLastQuery(q);
    // The URL wins after Back or another list; while one types, it follows.
    if (q !== text.trim()) setText(q);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (newText: string, composing: boolean) => {
    setText(newText);
    clearTimeout(timer.current);
    if (composing) return;
    const term = newText.trim();
    timer.current = setTimeout(() => applyFilters({ ...rest, ...(term && { q: term }) }, { replace: true }), newText ? pause : 0);
  };
  return [text, type];
}

interface SearchBoxProps {
  filters: Filters;
  input: Ref<InputRef>;
  onLeave: () => void;
}

export function SearchBox({ filters, input, onLeave }: SearchBoxProps) {
  const strings = useStrings();
  const [text, type] = useSearchText(filters);
  const composing = useRef(false);
  const leave = (event: KeyboardEvent) => {
    if (!["Escape", "Enter", "ArrowDown"].includes(event.key)) return;
    event.preventDefault();
    onLeave();
  };
  return (
    <Input
      ref={input} type="search" className="inbox-search" allowClear value={text} maxLength={200} data-testid="search"
      aria-label={strings.search} placeholder={strings.search} prefix={<span aria-hidden="true">⌕</span>} suffix={<kbd hidden={text !== ""}>/</kbd>}
      onChange={(event) => type(event.target.value, composing.current)} onKeyDown={leave}
      onCompositionStart={() => {
        composing.current = true;
      }}
      onCompositionEnd={(event) => {
        composing.current = false;
        type(event.currentTarget.value, false);
      }}
    />
  );
}
