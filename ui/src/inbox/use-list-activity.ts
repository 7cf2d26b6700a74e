import { useState, type FocusEvent, type PointerEvent, type UIEvent } from "react";
import { useMedia } from "../base/media";

/** Return whether nobody points at, focuses or scrolls the list, so that new rows may be inserted. */
export function useListActivity() {
  // A touch screen has no hover, so rows there never move by themselves.
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
