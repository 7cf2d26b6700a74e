import { threadPagePath } from "../../base/router";

export const learningPath = (id: string) => `/learning/${encodeURIComponent(id)}`;

/** Return the page of a learning agent's run: its conversation, or its own thread. */
export const learningRunPath = (thread: string) =>
  (thread.startsWith("tidy-") ? threadPagePath(thread) : learningPath(thread.replace(/~q\d+$/, "")));

export const playbookPath = (id: string, bullet?: string) =>
  `/learning?${new URLSearchParams({ playbook: id, ...(bullet && { bullet }) }).toString()}`;
