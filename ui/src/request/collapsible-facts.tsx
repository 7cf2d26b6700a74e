import type { ReactNode } from "react";
import type { Request } from "../api/types";
import { AgentText } from "../widgets/agent-text";
import { MarkedText } from "../widgets/marked-text";
import { learningProposalOf } from "./learning-proposal";
import { signature } from "./signature";

/** Hide the facts of a call behind its signature where they are already shown in other words. */
export function CollapsibleFacts({ request, isCollapsed, children }: { request: Request; isCollapsed: boolean; children: ReactNode }) {
  const learning = learningProposalOf(request);
  if (!isCollapsed || !request.action) return children;
  return (
    <details className="compact collapsible-facts">
      <summary>{learning ? <AgentText text={learning.result.text} /> : <code><MarkedText text={signature(request.action.name, request.action.args)} /></code>}</summary>
      {children}
    </details>
  );
}
