import { lazyWithRetry } from "../../base/browser";
import type { Application } from "../../request/applications";

/** Agents that learn from their answers: a page of their questions and playbooks, and the facts of what they propose to learn. */
export const learning: Application = {
  page: {
    name: "learning", label: { en: "Learning", ja: "学習", zh: "学习" }, pageKey: "g l", keyAreas: ["learning", "request"],
    Page: lazyWithRetry(() => import("./learning-page")),
  },
  LearningFacts: lazyWithRetry(() => import("./facts")),
};
