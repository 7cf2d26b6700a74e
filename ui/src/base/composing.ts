import { isTyping } from "./keys";

/** Return whether a key belongs to an input method; in Safari the key that ends a conversion comes after it, with key code 229. */
function isComposing(event: KeyboardEvent): boolean {
  // Outside of a text, 229 is a key that begins one.
  return event.isComposing || (event.keyCode === 229 && isTyping(event.target));
}

// Before every handler of the page and of its libraries: no field or shortcut acts on such a key.
window.addEventListener("keydown", (event) => {
  if (isComposing(event)) event.stopImmediatePropagation();
}, { capture: true });
