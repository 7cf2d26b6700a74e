import { Suspense } from "react";
import { lazyWithRetry } from "../base/browser";
import type { PauseAlertProps } from "./pause-alert";

// Most of the time no agent is paused.
const PauseAlert = lazyWithRetry(() => import("./pause-alert"));

export function PauseAlerts(props: PauseAlertProps) {
  return props.pauses.length > 0 && <Suspense><PauseAlert {...props} /></Suspense>;
}
