import { lazy, type ComponentType } from "react";
import { basePath } from "./base-path";

const sleep = (time: number) => new Promise((resolve) => { setTimeout(resolve, time); });

const isUp = () => fetch(`${basePath}/healthz`).then((reply) => reply.ok, () => false);

async function loadWithRetry<T>(load: () => Promise<T>, pause: number): Promise<T> {
  try {
    return await load();
  } catch {
    await sleep(pause);
    // A server that answers, again and again without this file, is a newer one: its page knows the new names.
    if (pause > 4_000 && (await isUp())) window.location.reload();
    return loadWithRetry(load, Math.min(pause * 2, 15_000));
  }
}

/** A part of the page that is loaded when it is first shown; while the server is away it is waited for. */
// oxlint-disable-next-line typescript/no-explicit-any -- React's own type for a component with any properties
export const lazyWithRetry = <T extends ComponentType<any>>(load: () => Promise<{ default: T }>) => lazy(() => loadWithRetry(load, 500));
