import { cleanup, configure } from "@testing-library/react";
import { afterEach } from "vitest";

// Parts of the page are loaded when they are needed, which takes longer than a second on a busy machine.
configure({ asyncUtilTimeout: 10_000 });

afterEach(() => {
  cleanup();
  window.localStorage.clear();
  window.sessionStorage.clear();
});

// Nothing is laid out here: a list that draws only what is on screen would draw nothing.
Object.defineProperty(HTMLElement.prototype, "clientHeight", { get: () => 800 });
Object.defineProperty(HTMLElement.prototype, "clientWidth", { get: () => 400 });
