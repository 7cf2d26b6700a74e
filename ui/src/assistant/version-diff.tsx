import { Disclosure } from "../widgets/disclosure";
import { visible } from "../base/visible";
import { changesOf, type Part } from "./diff";
import type { PlanContent } from "./types";
import { ValueChange } from "./value-change";
import { Value } from "./value";
import { useAssistantStrings } from "../strings/assistant";

function ChangedPart({ title, before, after, isStep }: Part) {
  const strings = useAssistantStrings();
  if (before !== undefined && after !== undefined) {
    return <><span className="quiet">{strings.planChanged}</span> {visible(title)}<div><ValueChange before={before} after={after} /></div></>;
  }
  const [word, value, Mark] = before === undefined ? [strings.planAdded, after, "ins" as const] : [strings.planRemoved, before, "del" as const];
  return (
    <>
      <span className="quiet">{word}</span> <Mark>{visible(title)}</Mark>
      {!isStep && value !== undefined && <div><Value value={value} /></div>}
    </>
  );
}

const kindOf = ({ before, after }: Part) => (before === undefined ? "added" : after === undefined ? "removed" : "changed");

/** The differences between two versions of a plan. */
export function VersionDiff({ id, before, after }: { id: string; before: PlanContent; after: PlanContent }) {
  const strings = useAssistantStrings();
  const changes = changesOf(before, after);
  return (
    <Disclosure id={`${id}-${after.version}`} testId="plan-diff" summary={<span>{strings.changesSinceVersion(before.version)} <span className="quiet">({changes.length})</span></span>}>
      {changes.length === 0 && <p className="quiet">{strings.noVersionChanges}</p>}
      <ul className="plan-changes detail">
        {changes.map((part) => <li key={part.name} data-testid="plan-change" data-kind={kindOf(part)}><ChangedPart {...part} /></li>)}
      </ul>
    </Disclosure>
  );
}
