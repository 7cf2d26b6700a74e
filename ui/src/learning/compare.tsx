import { useId, useState, type ReactNode } from "react";
import { NumberInput } from "../form/number-input";
import { isUnread, type Unread } from "../form/number-text";
import { TextDiff } from "../form/value-diff";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { useDiff } from "./api";
import { labelOf, useLearningStrings } from "../strings/learning";

function Lines({ title, children, testId }: { title: string; children: ReactNode[]; testId: string }) {
  if (children.length === 0) return null;
  return <section data-testid={testId}><h3>{title}</h3><ul className="entry-changes">{children}</ul></section>;
}

function Difference({ id, from, to }: { id: string; from: number; to: number }) {
  const strings = useLearningStrings();
  const { data, error, refetch } = useDiff(id, from, to);
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const { added, removed, changed } = data;
  if (added.length + removed.length + changed.length === 0) return <p className="quiet" data-testid="no-difference">{strings.noDifference}</p>;
  return (
    <div className="detail compare" data-testid="difference">
      <Lines title={strings.addedLines} testId="diff-added">
        {added.map(({ id: bullet, text, section }) => <li key={bullet}><code>{visible(bullet)}</code> <ins className="agent-text">{visible(text)}</ins> <span className="quiet">{labelOf(strings.sections, section)}</span></li>)}
      </Lines>
      <Lines title={strings.removedLines} testId="diff-removed">
        {removed.map(({ id: bullet, text }) => <li key={bullet}><code>{visible(bullet)}</code> <del className="agent-text">{visible(text)}</del></li>)}
      </Lines>
      <Lines title={strings.changedLines} testId="diff-changed">
        {changed.map(({ id: bullet, before, after }) => <li key={bullet}><code>{visible(bullet)}</code> <TextDiff before={before.text} after={after.text} /></li>)}
      </Lines>
    </div>
  );
}

/** The differences between two versions of a playbook. */
export function Compare({ id, head }: { id: string; head: number }) {
  const strings = useLearningStrings();
  const name = useId();
  const [from, setFrom] = useState<number | Unread>(1);
  const [to, setTo] = useState<number | Unread>(head);
  const bounds = { min: 1, max: head, isWhole: true };
  return (
    <div className="playbook-body">
      <div className="button-bar">
        <label htmlFor={`${name}-from`}>{strings.compareFrom}</label>
        <NumberInput {...bounds} id={`${name}-from`} value={from} onChange={(version = { unread: "" }) => setFrom(version)} testId="compare-from" />
        <label htmlFor={`${name}-to`}>{strings.compareTo}</label>
        <NumberInput {...bounds} id={`${name}-to`} value={to} onChange={(version = { unread: "" }) => setTo(version)} testId="compare-to" />
      </div>
      {!isUnread(from) && !isUnread(to) && <Difference id={id} from={from} to={to} />}
    </div>
  );
}
