import { Button, Tag } from "antd";
import { useState } from "react";
import { AgentText } from "../widgets/agent-text";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { useBullet, useChange } from "./api";
import { Confirm } from "./confirm";
import { EditBullet } from "./edit-bullet";
import { EntryView } from "./entry";
import type { Bullet } from "./types";
import { named, useLearningWords } from "./words";

type Step = "editing" | "retiring" | "history";

function Counts({ bullet: { helpful, harmful, used, type, created, changed, isActive, mergedInto } }: { bullet: Bullet }) {
  const words = useLearningWords();
  const { counted } = words;
  return (
    <div className="bullet-facts quiet">
      {type && <span>{named(words.insightTypes, type)}</span>}
      <span>{changed === created ? words.learnedAt(created) : words.changedAtVersion(changed)}</span>
      {!isActive && mergedInto && <span>{words.mergedInto(visible(mergedInto))}</span>}
      {used > 0 && <span data-testid="used">{counted.used} {used}</span>}
      {helpful > 0 && <span data-testid="helpful">{counted.helpful} {helpful}</span>}
      {harmful > 0 && <span className="error-text" data-testid="harmful">{counted.harmful} {harmful}</span>}
    </div>
  );
}

/** Who made a line what it is, step by step. */
function Blame({ playbook, bullet }: { playbook: string; bullet: string }) {
  const { data, error, refetch } = useBullet(playbook, bullet);
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 2 }} />;
  return (
    <ol className="inspector-rows blame" data-testid="blame">
      {data.history.toReversed().map((entry) => <EntryView key={entry.version} entry={entry} playbook={playbook} of={bullet} />)}
    </ol>
  );
}

/** One line of a playbook, and what a person can do about it. */
export function BulletRow({ playbook, bullet }: { playbook: string; bullet: Bullet }) {
  const words = useLearningWords();
  const [step, go] = useState<Step>();
  const { mutate, isPending, error } = useChange(playbook);
  const { id, text, hash, isActive } = bullet;
  const which = <span className="visually-hidden"> {visible(id)}</span>;
  const back = () => go(undefined);
  const change = (op: "retire" | "restore", reason = "") => mutate({ op, bullet: id, base: hash, ...(reason && { reason }) }, { onSuccess: back });
  return (
    <li id={`bullet-${id}`} data-testid="bullet" data-id={id} data-active={isActive}>
      <div className="bullet-line">
        <Tag variant="filled" className="bullet-id">{visible(id)}</Tag>
        {step === "editing" ? null : <span className={isActive ? "" : "quiet"} data-testid="bullet-text"><AgentText text={text} /></span>}
      </div>
      {step === "editing" && <EditBullet playbook={playbook} bullet={bullet} onDone={back} />}
      <Counts bullet={bullet} />
      {step === "retiring" && (
        <Confirm
          title={words.retireTitle} means={words.retireMeans} act={words.retireBullet} isPending={isPending} onBack={back} testId="confirm-retire"
          onConfirm={(reason) => change("retire", reason)}
        />
      )}
      {step !== "editing" && step !== "retiring" && (
        <div className="bullet-ways">
          {isActive && <Button type="text" size="small" onClick={() => go("editing")} data-testid="edit-bullet">{words.editBullet}{which}</Button>}
          {isActive && <Button type="text" size="small" onClick={() => go("retiring")} data-testid="retire-bullet">{words.retireBullet}{which}</Button>}
          {!isActive && <Button type="text" size="small" loading={isPending} onClick={() => change("restore")} data-testid="restore-bullet">{words.restoreBullet}{which}</Button>}
          <Button
            type="text" size="small" aria-expanded={step === "history"} onClick={() => go(step === "history" ? undefined : "history")} data-testid="blame-bullet"
          >
            {words.bulletHistory}{which}
          </Button>
        </div>
      )}
      <Problem error={error} />
      {step === "history" && <Blame playbook={playbook} bullet={id} />}
    </li>
  );
}
