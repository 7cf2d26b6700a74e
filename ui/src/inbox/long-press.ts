import { useRef, type MouseEvent, type PointerEvent } from "react";

const longPressTime = 500;

/** Detect a long press on a touch screen. */
export function useLongPress(onLongPress: () => void) {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const last = useRef({ touch: false, long: false });
  const stop = () => clearTimeout(timer.current);
  const handlers = {
    onPointerDown: ({ pointerType }: PointerEvent) => {
      last.current = { touch: pointerType === "touch", long: false };
      stop();
      if (pointerType !== "touch") return;
      timer.current = setTimeout(() => {
        last.current.long = true;
        onLongPress();
      }, longPressTime);
    },
    onPointerUp: stop,
    onPointerCancel: stop,
    // The link's context menu would cover the row that was just selected.
    onContextMenu: (event: MouseEvent) => last.current.touch && event.preventDefault(),
  };
  return { handlers, wasLong: () => last.current.long, isTouch: () => last.current.touch };
}
