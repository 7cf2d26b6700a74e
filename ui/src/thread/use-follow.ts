import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

/** So near to the end counts as being there. */
const near = 80;

/** How a reader scrolls, and for how long the page may still move from it. */
const hands = ["wheel", "touchmove", "pointerdown", "keydown"];
const upwards = new Set(["ArrowUp", "PageUp", "Home", " ", "k", "j"]);
const handLasts = 800;

const distance = (end: HTMLElement) => end.getBoundingClientRect().bottom - window.innerHeight;

/** Whoever types, or is about to press a key on a control, must not see it move away. */
function isBusyIn(column: HTMLElement): boolean {
  const active = document.activeElement;
  return active !== null && column.contains(active) && active.matches("input, textarea, select, button, [contenteditable]");
}

interface Following {
  /** How many things have come since the reader left the end; 0 while they are there. */
  behind: number;
  toEnd: () => void;
}

/** Keep the end of what grows in view while the reader is there, and nothing moving while they are not. */
export function useFollow(column: RefObject<HTMLElement | null>, end: RefObject<HTMLElement | null>, count: number): Following {
  const following = useRef(true);
  const [isAway, setAway] = useState(false);
  const [seen, setSeen] = useState(count);
  if (!isAway && seen !== count) setSeen(count);

  const toEnd = useCallback(() => {
    following.current = true;
    if (end.current && distance(end.current) > 0) window.scrollBy({ top: distance(end.current) + 16, behavior: "instant" });
    setAway(false);
  }, [end]);

  useEffect(() => {
    let before = window.scrollY;
    let movedAt = -Infinity;
    const moved = (event: Event) => {
      if (!(event instanceof KeyboardEvent) || upwards.has(event.key)) movedAt = event.timeStamp;
    };
    const scrolled = ({ timeStamp }: Event) => {
      if (!end.current) return;
      const atEnd = distance(end.current) <= near;
      // A list that measures its rows corrects the position by itself: only a reader's own hand leaves the end.
      const byHand = window.scrollY < before && timeStamp - movedAt < handLasts;
      if (atEnd) following.current = true;
      else if (byHand) following.current = false;
      before = window.scrollY;
      setAway(!atEnd && !following.current);
    };
    window.addEventListener("scroll", scrolled, { passive: true });
    for (const hand of hands) window.addEventListener(hand, moved, { passive: true });
    return () => {
      window.removeEventListener("scroll", scrolled);
      for (const hand of hands) window.removeEventListener(hand, moved);
    };
  }, [end]);

  useEffect(() => {
    const element = column.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      if (!following.current) return;
      if (isBusyIn(element)) setAway(end.current !== null && distance(end.current) > near);
      else toEnd();
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [column, end, toEnd]);

  return { behind: isAway ? Math.max(0, count - seen) : 0, toEnd };
}
