import { Fold } from "../thread/fold";
import { visible } from "../widgets/visible";
import { changesOf, type Part } from "./diff";
import type { PlanContent } from "./types";
import { ShortChange } from "./short-change";
import { Value } from "./value";
import { useAssistantWords } from "./words";

function Changed({ title, before, after, isStep }: Part) {
  const words = useAssistantWords();
  if (before !== undefined && after !== undefined) {
    return <><span className="quiet">{words.planChanged}</span> {visible(title)}<div><ShortChange before={before} after={after} /></div></>;
  }
  const [word, value, Mark] = before === undefined ? [words.planAdded, after, "ins" as const] : [words.planRemoved, before, "del" as const];
  return (
    <>
      <span className="quiet">{word}</span> <Mark>{visible(title)}</Mark>
      {!isStep && value !== undefined && <div><Value value={value} /></div>}
    </>
  );
}

const kindOf = ({ before, after }: Part) => (before === undefined ? "added" : after === undefined ? "removed" : "changed");

/** What a version has that the one before it had not. */
export function ChangedSince({ id, before, after }: { id: string; before: PlanContent; after: PlanContent }) {
  const words = useAssistantWords();
  const changes = changesOf(before, after);
  return (
    <Fold id={`${id}-${after.version}`} testId="plan-diff" summary={<span>{words.changedSince(before.version)} <span className="quiet">({changes.length})</span></span>}>
      {changes.length === 0 && <p className="quiet">{words.nothingChanged}</p>}
      <ul className="plan-changes detail">
        {changes.map((part) => <li key={part.name} data-testid="plan-change" data-kind={kindOf(part)}><Changed {...part} /></li>)}
      </ul>
    </Fold>
  );
}
