import type { JsonObject, Request } from "../api/types";
import { askedBy } from "../learning/of-request";
import { Prose } from "../thread/prose";
import { JsonValue } from "../widgets/agent-text";
import { atTheGate } from "./gate";
import { useWords } from "./words";

/** Where an assistant's question belongs: for programs, who reads it sees it there. */
const isOfAssistant = ({ assistant, conversation }: JsonObject) => typeof assistant === "string" && typeof conversation === "string";

/** What an agent says of its own work is no fact; the task that would end is shown as one elsewhere. */
function wordsOf(request: Request): { summary?: string; rest: JsonObject } {
  const { kind, context } = request;
  // All of it stands among the facts, what the agent says of it as its own words.
  if (askedBy(request)) return { rest: {} };
  if (kind !== "finish") return { rest: isOfAssistant(context) ? {} : context };
  const { task: _shownAsFact, summary, ...rest } = context;
  return typeof summary === "string" ? { summary, rest } : { rest: { ...rest, ...(summary !== undefined && { summary }) } };
}

/** Prose and context from the agent, set apart from the facts because nobody has checked them. */
export function AgentWords({ request }: { request: Request }) {
  const strings = useWords();
  const { summary, rest } = wordsOf(request);
  return (
    <>
      {summary && (
        <aside className="agent-words" data-testid="summary" aria-label={strings.summary}>
          <div className="quiet">{strings.summary}</div>
          <Prose text={summary} />
        </aside>
      )}
      {request.description && (
        <aside className="agent-words" data-testid="agent-words" aria-label={strings.agentSays}>
          <div className="quiet">{strings.agentSays}</div>
          <Prose text={atTheGate(request.description, request, strings)} />
        </aside>
      )}
      {Object.keys(rest).length > 0 && (
        <aside className="agent-words" data-testid="context" aria-label={strings.context}>
          <div className="quiet">{strings.context}</div>
          <JsonValue value={rest} />
        </aside>
      )}
    </>
  );
}
