import { Card } from "antd";
import { type JsonObject, type Request, type Vote, isEqual } from "../api/types";
import { ValueDiff } from "../form/value-diff";
import { useRequestStrings, type RequestStrings } from "../strings/detail";
import { AgentText } from "../widgets/agent-text";
import { Timestamp } from "../widgets/timestamp";
import { visible } from "../base/visible";
import { editableValues } from "./decisions";
import { needsVotes, voterName } from "./assignment";

/** Return the values that a vote changes, by name. */
export function changesOf(request: Request, { args, data }: Pick<Vote, "args" | "data">) {
  const before: JsonObject = editableValues(request) ?? {};
  const after = args ?? (request.action ? null : data);
  // The values of a person who was erased are gone: they changed nothing to nothing.
  if (!after) return [];
  return Object.keys({ ...before, ...after })
    .filter((name) => !isEqual(before[name], after[name]))
    .map((name) => ({ name, before: before[name], after: after[name] }));
}

function Changes({ request, vote }: { request: Request; vote: Vote }) {
  if (vote.decision !== "edit") return null;
  return (
    <ul className="vote-changes">
      {changesOf(request, vote).map(({ name, before, after }) => (
        <li key={name}><code>{visible(name)}</code>: <ValueDiff before={before} after={after} /></li>
      ))}
    </ul>
  );
}

/** Return the votes that are still needed, stage by stage; null if none are. */
function neededVotes(request: Request, { voting, anyOf }: RequestStrings): string | null {
  const missing = request.missing ?? [];
  if (missing.length === 0) return null;
  return voting.needed(missing.map(({ count = 1, groups = [] }) => voting.votesOf(count, groups.length > 0 ? anyOf(groups.map(visible)) : null)));
}

/** Who has voted for what, and whose votes are missing. */
export function Votes({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { voting } = strings;
  const { votes = [] } = request;
  const needed = request.status === "pending" ? neededVotes(request, strings) : null;
  if (!needsVotes(request) || (votes.length === 0 && !needed)) return null;
  return (
    <Card size="small" title={voting.title} data-testid="votes">
      {votes.length > 0 && (
        <ul className="votes">
          {votes.map((vote) => (
            <li key={vote.subject} data-testid="vote" data-name={vote.responder}>
              <strong>{voterName(vote, strings)}</strong> · {voting.agreed[vote.decision]} · <Timestamp at={vote.at} />
              <Changes request={request} vote={vote} />
              {vote.message && <div><AgentText text={vote.message} /></div>}
            </li>
          ))}
        </ul>
      )}
      {needed && <p className="votes-needed" data-testid="votes-needed">{needed}</p>}
    </Card>
  );
}
