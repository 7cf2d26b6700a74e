import { useState, type FocusEvent, type PointerEvent, type UIEvent } from "react";
import { useMedia } from "../widgets/media";

/** Whether nobody's hand or eye is on the rows, so that new ones may move them; and what to watch to know it. */
export function useListActivity() {
  // A finger is over no row until it touches one: there, nothing ever moves by itself.
  const hovers = useMedia("(hover: hover)");
  const [pointed, setPointed] = useState(false);
  const [focused, setFocused] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  const handlers = {
    onPointerEnter: ({ pointerType }: PointerEvent) => setPointed(pointerType === "mouse"),
    onPointerLeave: () => setPointed(false),
    onFocus: () => setFocused(true),
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent) => setFocused(currentTarget.contains(relatedTarget)),
    onScrollCapture: ({ target }: UIEvent) => setScrolled((target as HTMLElement).scrollTop > 0),
  };
  return { isInactive: hovers && !pointed && !focused && !scrolled, handlers };
}
