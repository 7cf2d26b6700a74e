import { Button, Tag } from "antd";
import { useState } from "react";
import { TextDiff } from "../../form/text-diff";
import { actorName, isThreadActor } from "../../widgets/names";
import { AgentText } from "../../widgets/agent-text";
import { Problem } from "../../widgets/problem";
import { learningRunPath } from "./paths";
import { Link, requestPath } from "../../base/router";
import { Timestamp } from "../../widgets/timestamp";
import { visible } from "../../base/visible";
import { useChange, type Entry } from "./api";
import { Confirm } from "./confirm";
import { EvidenceRef } from "./evidence-ref";
import { BulletScope } from "./scope";
import { labelOf, useLearningStrings } from "./strings";

const colours: Partial<Record<Entry["op"], string>> = { add: "success", edit: "processing", merge: "processing", retire: "warning", undo: "warning", restore: "success" };

function BulletChange({ change: { bullet, before, after } }: { change: Entry["changes"][number] }) {
  const strings = useLearningStrings();
  const text = before === null || !before.isActive ? <ins className="agent-text">{visible(after.text)}</ins>
    : after.isActive ? <TextDiff before={before.text} after={after.text} /> : <del className="agent-text">{visible(before.text)}</del>;
  const moved = before !== null && before.section !== after.section;
  return (
    <li>
      <code>{visible(bullet)}</code> {text}
      {moved && <span className="quiet"> {labelOf(strings.sections, before.section)} → {labelOf(strings.sections, after.section)}</span>}
      <BulletScope scope={after.applies_when} />
    </li>
  );
}

function TagCounts({ tags }: { tags: Entry["tags"] }) {
  const strings = useLearningStrings();
  const counts = tags.filter(({ tag }) => tag !== "neutral").map(({ bullet, tag }) => `${visible(bullet)} ${labelOf(strings.bulletCounters, tag)}`);
  return counts.length > 0 ? <span className="quiet">{counts.join(" · ")}</span> : null;
}

/** The author of an entry: the person who decided, otherwise the agent. */
function EntryAuthor({ entry: { approvedBy, rejectedBy, by } }: { entry: Entry }) {
  const strings = useLearningStrings();
  const who = approvedBy ?? rejectedBy;
  if (approvedBy) return <>{strings.approvedBy(actorName(approvedBy, strings))}</>;
  if (!who && isThreadActor(by)) return <>{strings.byAgentCounts}</>;
  return <>{strings.byActor(actorName(who ?? by, strings))}</>;
}

function Undo({ entry: { version }, playbook }: { entry: Entry; playbook: string }) {
  const strings = useLearningStrings();
  const [isConfirming, setConfirming] = useState(false);
  const { mutate, isPending, error } = useChange(playbook);
  const back = () => setConfirming(false);
  const undo = (reason: string) => mutate({ op: "undo", version, ...(reason && { reason }) }, { onSuccess: back });
  return (
    <>
      {isConfirming ? (
        <Confirm
          title={strings.undoTitle(version)} description={strings.undoHint} actionLabel={strings.confirmUndo} isPending={isPending} onBack={back} onConfirm={undo}
          testId="confirm-undo"
        />
      ) : <Button size="small" onClick={() => setConfirming(true)} data-testid="undo">{strings.undo}<span className="visually-hidden"> {strings.versionOf(version)}</span></Button>}
      <Problem error={error} />
    </>
  );
}

interface EntryProps {
  entry: Entry;
  playbook: string;
  /** Show only the changes of this bullet. */
  of?: string;
  /** True if a later version took this one back. */
  isUndone?: boolean;
}

/** One entry of a playbook's history: change, author, time, reason, and a button to undo it. */
export function EntryView({ entry, playbook, of, isUndone = false }: EntryProps) {
  const strings = useLearningStrings();
  const { version, at, op, changes, tags, reason, undoes, requestId, threadId, evidence, text } = entry;
  const canUndo = changes.length > 0 && of === undefined && undoes === null && !isUndone;
  const visibleChanges = changes.filter(({ bullet }) => of === undefined || bullet === of);
  return (
    <li data-testid="entry" data-version={version} data-op={op}>
      <div className="entry-head">
        <Tag color={colours[op] ?? "default"} variant="outlined">{strings.operations[op]}</Tag>
        <span className="quiet">{strings.versionOf(version)} · <Timestamp at={at} /> · <span data-testid="entry-by"><EntryAuthor entry={entry} /></span></span>
        {undoes !== null && <span className="quiet">{strings.undoesVersion(undoes)}</span>}
        {isUndone && <span className="quiet" data-testid="taken-back">{strings.takenBack}</span>}
        <TagCounts tags={of === undefined ? tags : tags.filter(({ bullet }) => bullet === of)} />
      </div>
      {visibleChanges.length > 0 && <ul className="entry-changes">{visibleChanges.map((change) => <BulletChange key={change.bullet} change={change} />)}</ul>}
      {text !== null && <div className="quiet"><AgentText text={text} /></div>}
      {reason && <div data-testid="entry-reason"><q>{visible(reason)}</q></div>}
      {evidence.length > 0 && (
        <ul className="learn-list">
          {evidence.map(({ where, ref, quote }) => <li key={`${where} ${ref} ${quote}`}><q>{visible(quote)}</q> <EvidenceRef where={where} reference={ref} /></li>)}
        </ul>
      )}
      {(requestId || threadId || canUndo) && (
        <div className="entry-ways">
          {requestId && <Link to={requestPath(requestId)}>{strings.requestLink}</Link>}
          {threadId && op !== "tag" && <Link to={learningRunPath(threadId)}>{strings.runLink}</Link>}
          {canUndo && <Undo entry={entry} playbook={playbook} />}
        </div>
      )}
    </li>
  );
}
