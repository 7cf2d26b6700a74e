import { Button, Tag } from "antd";
import { useState } from "react";
import { TextDiff } from "../request/value-diff";
import { actorName, isThreadActor } from "../request/people";
import { AgentText } from "../widgets/agent-text";
import { Problem } from "../widgets/problem";
import { learnedInPath, Link, requestPath } from "../widgets/router";
import { Clock } from "../widgets/time";
import { visible } from "../widgets/visible";
import { useChange } from "./api";
import { Confirm } from "./confirm";
import { EvidenceRef } from "./ref";
import type { Entry } from "./types";
import { named, useLearningWords } from "./words";

const colours: Partial<Record<Entry["op"], string>> = { add: "success", edit: "processing", merge: "processing", retire: "warning", undo: "warning", restore: "success" };

function ChangeOf({ change: { bullet, before, after } }: { change: Entry["changes"][number] }) {
  const words = useLearningWords();
  const text = before === null || !before.isActive ? <ins className="agent-text">{visible(after.text)}</ins>
    : after.isActive ? <TextDiff before={before.text} after={after.text} /> : <del className="agent-text">{visible(before.text)}</del>;
  const moved = before !== null && before.section !== after.section;
  return (
    <li>
      <code>{visible(bullet)}</code> {text}
      {moved && <span className="quiet"> {named(words.sections, before.section)} → {named(words.sections, after.section)}</span>}
    </li>
  );
}

function Counted({ tags }: { tags: Entry["tags"] }) {
  const words = useLearningWords();
  const told = tags.filter(({ tag }) => tag !== "neutral").map(({ bullet, tag }) => `${visible(bullet)} ${named(words.counted, tag)}`);
  return told.length > 0 ? <span className="quiet">{told.join(" · ")}</span> : null;
}

/** Who did it: the person who let it be learned comes before the agent that entered it. */
function By({ entry: { approvedBy, rejectedBy, by } }: { entry: Entry }) {
  const words = useLearningWords();
  const who = approvedBy ?? rejectedBy;
  if (approvedBy) return <>{words.approvedBy(actorName(approvedBy, words))}</>;
  if (!who && isThreadActor(by)) return <>{words.byAgent}</>;
  return <>{words.byWhom(actorName(who ?? by, words))}</>;
}

function Undo({ entry: { version }, playbook }: { entry: Entry; playbook: string }) {
  const words = useLearningWords();
  const [asking, ask] = useState(false);
  const { mutate, isPending, error } = useChange(playbook);
  const back = () => ask(false);
  const undo = (reason: string) => mutate({ op: "undo", version, ...(reason && { reason }) }, { onSuccess: back });
  return (
    <>
      {asking ? (
        <Confirm
          title={words.undoTitle(version)} means={words.undoMeans} act={words.undoNow} isPending={isPending} onBack={back} onConfirm={undo}
          testId="confirm-undo"
        />
      ) : <Button size="small" onClick={() => ask(true)} data-testid="undo">{words.undo}<span className="visually-hidden"> {words.versionOf(version)}</span></Button>}
      <Problem error={error} />
    </>
  );
}

interface EntryProps {
  entry: Entry;
  playbook: string;
  /** Only what it did to this line. */
  of?: string;
}

/** One step of a playbook's history: what, who, when, why, and the way back. */
export function EntryView({ entry, playbook, of }: EntryProps) {
  const words = useLearningWords();
  const { version, at, op, changes, tags, reason, undoes, requestId, threadId, evidence, text } = entry;
  const shown = changes.filter(({ bullet }) => of === undefined || bullet === of);
  return (
    <li data-testid="entry" data-version={version} data-op={op}>
      <div className="entry-head">
        <Tag color={colours[op] ?? "default"} variant="outlined">{words.operations[op]}</Tag>
        <span className="quiet">{words.versionOf(version)} · <Clock at={at} /> · <span data-testid="entry-by"><By entry={entry} /></span></span>
        {undoes !== null && <span className="quiet">{words.undoes(undoes)}</span>}
        <Counted tags={of === undefined ? tags : tags.filter(({ bullet }) => bullet === of)} />
      </div>
      {shown.length > 0 && <ul className="entry-changes">{shown.map((change) => <ChangeOf key={change.bullet} change={change} />)}</ul>}
      {text !== null && <div className="quiet"><AgentText text={text} /></div>}
      {reason && <div data-testid="entry-reason"><q>{visible(reason)}</q></div>}
      {evidence.length > 0 && (
        <ul className="learn-list">
          {evidence.map(({ where, ref, quote }) => <li key={`${where} ${ref} ${quote}`}><q>{visible(quote)}</q> <EvidenceRef where={where} reference={ref} /></li>)}
        </ul>
      )}
      {(requestId || threadId || changes.length > 0) && (
        <div className="entry-ways">
          {requestId && <Link to={requestPath(requestId)}>{words.theRequest}</Link>}
          {threadId && op !== "tag" && <Link to={learnedInPath(threadId)}>{words.theRun}</Link>}
          {changes.length > 0 && of === undefined && <Undo entry={entry} playbook={playbook} />}
        </div>
      )}
    </li>
  );
}
