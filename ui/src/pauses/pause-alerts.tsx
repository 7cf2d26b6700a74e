import { Suspense } from "react";
import { pausesOf, usePauses, usePausesOf } from "../api/pauses";
import type { Request } from "../api/types";
import { lazyWithRetry } from "../base/lazy";
import type { PauseAlertProps } from "./pause-alert";

// Most of the time no agent is paused.
const PauseAlert = lazyWithRetry(() => import("./pause-alert"));

function PauseAlerts(props: PauseAlertProps) {
  return props.pauses.length > 0 && <Suspense><PauseAlert {...props} /></Suspense>;
}

/** All pauses of the tenant, above the inbox. */
export function TenantPauses() {
  return <PauseAlerts pauses={usePauses()} banner />;
}

/** The pauses that stop an agent. */
export function AgentPauses({ agent }: { agent: string }) {
  return <PauseAlerts pauses={pausesOf(usePauses(), agent)} />;
}

/** The pauses that stop the agent of a request. */
export function RequestPauses({ request }: { request: Request }) {
  return <PauseAlerts pauses={usePausesOf(request)} />;
}
