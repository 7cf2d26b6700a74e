import { lazy, type ComponentType } from "react";
import { basePath } from "./base-path";

const sleep = (time: number) => new Promise((resolve) => { setTimeout(resolve, time); });

const isUp = () => fetch(`${basePath}/healthz`).then((reply) => reply.ok, () => false);

async function loadWithRetry<T>(load: () => Promise<T>, pause: number): Promise<T> {
  try {
    return await load();
  } catch {
    await sleep(pause);
    // If the server answers but the file stays missing, the page was updated: reload it.
    if (pause > 4_000 && (await isUp())) window.location.reload();
    return loadWithRetry(load, Math.min(pause * 2, 15_000));
  }
}

/** Load a component on first use, and retry while the server is unreachable. */
// oxlint-disable-next-line typescript/no-explicit-any -- React's own type for a component with any properties
export const lazyWithRetry = <T extends ComponentType<any>>(load: () => Promise<{ default: T }>) => lazy(() => loadWithRetry(load, 500));
