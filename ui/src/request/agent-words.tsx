import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { AgentText, JsonValue } from "../widgets/agent-text";

/** Prose and context from the agent, set apart from the facts because nobody has checked them. */
export function AgentWords({ request }: { request: Request }) {
  const strings = useStrings();
  const context = request.kind === "finish" ? {} : (request.context ?? {});
  return (
    <>
      {request.description && (
        <aside className="agent-words" data-testid="agent-words" aria-label={strings.agentSays}>
          <div className="quiet">{strings.agentSays}</div>
          <AgentText text={request.description} />
        </aside>
      )}
      {Object.keys(context).length > 0 && (
        <aside className="agent-words" data-testid="context" aria-label={strings.context}>
          <div className="quiet">{strings.context}</div>
          <JsonValue value={context} />
        </aside>
      )}
    </>
  );
}
