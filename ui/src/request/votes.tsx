import { Button, Card } from "antd";
import { useSession } from "../api/session";
import type { JsonObject, Request, Vote } from "../api/types";
import { ValueDiff } from "../form/value-diff";
import { isEqual } from "../form/values";
import { useRequestStrings, type RequestStrings } from "../strings/use-request-strings";
import { AgentText } from "../widgets/agent-text";
import { Timestamp } from "../widgets/time";
import { visible } from "../widgets/visible";
import { KeyLabel } from "../widgets/key-label";
import { editableValues } from "./decisions";
import type { DecisionFormState } from "./use-decision-form";
import { needsVotes, voterName } from "./voting";

/** The key that agrees with the edit of an earlier voter. */
export const agreeKey = "v";

/** Return the values that a vote changes, by name. */
function changesOf(request: Request, { args, data }: Pick<Vote, "args" | "data">) {
  const before: JsonObject = editableValues(request) ?? {};
  return Object.entries(args ?? (request.action ? {} : data) ?? {})
    .filter(([name, value]) => !isEqual(before[name], value))
    .map(([name, value]) => ({ name, before: before[name], after: value }));
}

/** Return the latest edit of somebody else with which this person has not agreed yet. */
export function proposedEdit({ votes = [] }: Request, name: string | undefined): Vote | undefined {
  const own = votes.find(({ responder }) => responder === name)?.authorised_digest;
  return votes.findLast((vote) => vote.decision === "edit" && vote.responder !== name && vote.authorised_digest !== own);
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

interface VotesProps {
  request: Request;
  /** Agree with the proposed edit; left out if this person cannot. */
  agree?: { vote: Vote; run: () => void; isSending: boolean } | undefined;
}

/** Who has voted for what, and whose votes are missing. */
export function Votes({ request, agree }: VotesProps) {
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
              {agree?.vote === vote && (
                <Button size="small" onClick={agree.run} loading={agree.isSending} aria-keyshortcuts={agreeKey} data-testid="agree-edit">
                  <KeyLabel label={voting.agreeWithEdit} keyName={agreeKey} />
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {needed && <p className="votes-needed" data-testid="votes-needed">{needed}</p>}
    </Card>
  );
}

/** The votes so far, with a button to agree with an edit. */
export function OpenVotes({ form }: { form: DecisionFormState }) {
  const me = useSession().data?.name;
  const { request, agree, offered, blockedReason, isLocked, draft, decision } = form;
  const isOpen = draft.mode === "deciding" && !blockedReason && (!isLocked || decision.sending === "edit") && offered.includes("edit");
  const edit = isOpen ? proposedEdit(request, me) : undefined;
  return <Votes request={request} agree={edit && { vote: edit, run: () => agree(edit), isSending: decision.sending === "edit" }} />;
}
