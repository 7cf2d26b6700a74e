import type { KeyboardEvent, MouseEvent } from "react";

/** The handlers of a button that decides: neither a key that is still held down nor the second click of a double-click presses it. */
export const deliberate = (press: () => void) => ({
  onKeyDown: (event: KeyboardEvent) => {
    if (event.repeat) event.preventDefault();
  },
  onClick: (event: MouseEvent) => {
    if (event.detail < 2) press();
  },
});
