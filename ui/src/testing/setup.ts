import { cleanup } from "@testing-library/react";
import { afterEach } from "vitest";

afterEach(() => {
  cleanup();
  window.localStorage.clear();
  window.sessionStorage.clear();
});

// Nothing is laid out here: a list that draws only what is on screen would draw nothing.
Object.defineProperty(HTMLElement.prototype, "clientHeight", { get: () => 800 });
Object.defineProperty(HTMLElement.prototype, "clientWidth", { get: () => 400 });
