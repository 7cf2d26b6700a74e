import { useEffect, useState, type RefObject } from "react";

/** Return whether the focus is within an element. */
export function useFocusWithin(area: RefObject<HTMLElement | null>): boolean {
  const [within, setWithin] = useState(false);
  useEffect(() => {
    const look = () => setWithin(area.current?.contains(document.activeElement) ?? false);
    document.addEventListener("focusin", look);
    return () => document.removeEventListener("focusin", look);
  }, [area]);
  return within;
}
