import type { ReactNode } from "react";
import type { Request } from "../api/types";
import { askedBy } from "../learning/of-request";
import { AgentText } from "../widgets/agent-text";
import { signature } from "./signature";

/** What a call would do, or did, behind its line: for who has read it in other words. */
export function FoldedFacts({ request, folded, children }: { request: Request; folded: boolean; children: ReactNode }) {
  const learning = askedBy(request);
  if (!folded || !request.action) return children;
  return (
    <details className="compact folded-facts">
      <summary>{learning ? <AgentText text={learning.learned.text} /> : <code>{signature(request.action.name, request.action.args)}</code>}</summary>
      {children}
    </details>
  );
}
