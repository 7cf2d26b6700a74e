import { useCallback, useEffect, useRef, useState, type RefObject } from "react";

/** Distance from the end, in pixels, that still counts as the end. */
const endTolerance = 80;

/** Height of the sticky header, in pixels. */
const headerHeight = 72;

/** Events with which a reader scrolls, and how long they explain a scroll, in milliseconds. */
const inputEvents = ["wheel", "touchmove", "pointerdown", "keydown"];
const upwards = new Set(["ArrowUp", "PageUp", "Home", " ", "k", "j"]);
const inputTime = 800;

function isScrollInput(event: Event): boolean {
  if (event instanceof KeyboardEvent) return upwards.has(event.key);
  // A pointer press scrolls only on the scroll bar, where its target is the document.
  return event.type !== "pointerdown" || event.target === document.documentElement;
}

const distance = (end: HTMLElement) => end.getBoundingClientRect().bottom - window.innerHeight;

/** Return whether the reader uses a control in the list, which must not move. */
function isBusyIn(column: HTMLElement): boolean {
  const active = document.activeElement;
  return active !== null && column.contains(active) && active.matches("input, textarea, select, button, [contenteditable]");
}

/** Return the aside below the newest message, if there is one. */
function newestAside(column: HTMLElement): Element | undefined {
  const lastMessage = Array.from(column.querySelectorAll("[data-testid=chat-message]")).at(-1);
  return Array.from(column.querySelectorAll("[data-beside]")).find((one) => lastMessage && lastMessage.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING);
}

/** Return the distance of the first open question from the top, so that scrolling does not hide it. */
function untilQuestion(column: HTMLElement): number {
  const open = column.querySelector("article[data-status=pending]:not([data-beside] *)") ?? newestAside(column);
  return open ? open.getBoundingClientRect().top - headerHeight : Infinity;
}

interface ScrollFollow {
  /** Number of new items since the reader left the end; 0 while they are there. */
  newCount: number;
  toEnd: () => void;
}

/** Keep the end in view while the reader is there, and never move the page otherwise. */
export function useFollow(column: RefObject<HTMLElement | null>, end: RefObject<HTMLElement | null>, count: number): ScrollFollow {
  const following = useRef(true);
  const [isAway, setAway] = useState(false);
  const [seenCount, setSeenCount] = useState(count);
  if (!isAway && seenCount !== count) setSeenCount(count);

  const toEnd = useCallback(() => {
    following.current = true;
    if (end.current && distance(end.current) > 0) window.scrollBy({ top: distance(end.current) + 16, behavior: "instant" });
    setAway(false);
  }, [end]);

  const follow = useCallback((from: HTMLElement) => {
    if (!end.current) return;
    const by = isBusyIn(from) ? 0 : Math.min(distance(end.current) + 16, untilQuestion(from));
    if (by > 0) window.scrollBy({ top: by, behavior: "instant" });
    setAway(distance(end.current) > endTolerance);
  }, [end]);

  useEffect(() => {
    let before = window.scrollY;
    let inputAt = -Infinity;
    const onInput = (event: Event) => {
      if (isScrollInput(event)) inputAt = event.timeStamp;
    };
    const onScroll = ({ timeStamp }: Event) => {
      if (!end.current) return;
      const atEnd = distance(end.current) <= endTolerance;
      // A virtual list corrects the position by itself; only the reader's own scroll leaves the end.
      const byHand = window.scrollY < before && timeStamp - inputAt < inputTime;
      if (atEnd) following.current = true;
      else if (byHand) following.current = false;
      before = window.scrollY;
      setAway(!atEnd && !following.current);
    };
    window.addEventListener("scroll", onScroll, { passive: true });
    for (const hand of inputEvents) window.addEventListener(hand, onInput, { passive: true });
    return () => {
      window.removeEventListener("scroll", onScroll);
      for (const hand of inputEvents) window.removeEventListener(hand, onInput);
    };
  }, [end]);

  useEffect(() => {
    const element = column.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => {
      if (following.current) follow(element);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [column, follow]);

  return { newCount: isAway ? Math.max(0, count - seenCount) : 0, toEnd };
}
