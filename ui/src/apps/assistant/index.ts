import { lazyWithRetry } from "../../base/browser";
import type { Application } from "../../request/applications";
import { acceptsEvents } from "./accepts-events";

/** Assistants that gather information and carry out plans: their conversations have cards of plans, and actions above the composer. */
export const assistant: Application = {
  conversation: { isWith: acceptsEvents, View: lazyWithRetry(() => import("./conversation")) },
};
