import { Button, Tag } from "antd";
import { useState } from "react";
import { AgentText } from "../widgets/agent-text";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { useBullet, useChange } from "./api";
import { Confirm } from "./confirm";
import { EditBullet } from "./edit-bullet";
import { EntryView } from "./entry";
import { BulletScope } from "./scope";
import type { Bullet } from "./types";
import { labelOf, useLearningStrings } from "../strings/learning";

type Step = "editing" | "retiring" | "history";

function Counts({ bullet: { helpful, harmful, used, type, created, changed, isActive, mergedInto } }: { bullet: Bullet }) {
  const strings = useLearningStrings();
  const { bulletCounters } = strings;
  return (
    <div className="bullet-facts quiet">
      {type && <span>{labelOf(strings.insightTypes, type)}</span>}
      <span>{changed === created ? strings.sinceVersion(created) : strings.changedAtVersion(changed)}</span>
      {!isActive && mergedInto && <span>{strings.mergedInto(visible(mergedInto))}</span>}
      {used > 0 && <span data-testid="used">{bulletCounters.used} {used}</span>}
      {helpful > 0 && <span data-testid="helpful">{bulletCounters.helpful} {helpful}</span>}
      {harmful > 0 && <span className="error-text" data-testid="harmful">{bulletCounters.harmful} {harmful}</span>}
    </div>
  );
}

/** The history of one bullet, with the author of each change. */
function BulletEntries({ playbook, bullet }: { playbook: string; bullet: string }) {
  const { data, error, refetch } = useBullet(playbook, bullet);
  if (error && !data) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Loading paragraph={{ rows: 2 }} />;
  return (
    <ol className="inspector-rows blame" data-testid="blame">
      {data.history.toReversed().map((entry) => <EntryView key={entry.version} entry={entry} playbook={playbook} of={bullet} />)}
    </ol>
  );
}

/** One bullet of a playbook with its actions. */
export function BulletRow({ playbook, bullet }: { playbook: string; bullet: Bullet }) {
  const strings = useLearningStrings();
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
      {step !== "editing" && <BulletScope scope={bullet.applies_when} />}
      {step === "editing" && <EditBullet playbook={playbook} bullet={bullet} onDone={back} />}
      <Counts bullet={bullet} />
      {step === "retiring" && (
        <Confirm
          title={strings.retireTitle} description={strings.retireWarning} actionLabel={strings.retireBullet} isPending={isPending} onBack={back} testId="confirm-retire"
          onConfirm={(reason) => change("retire", reason)}
        />
      )}
      {step !== "editing" && step !== "retiring" && (
        <div className="bullet-ways">
          {isActive && <Button type="text" size="small" onClick={() => go("editing")} data-testid="edit-bullet">{strings.editBullet}{which}</Button>}
          {isActive && <Button type="text" size="small" onClick={() => go("retiring")} data-testid="retire-bullet">{strings.retireBullet}{which}</Button>}
          {!isActive && <Button type="text" size="small" loading={isPending} onClick={() => change("restore")} data-testid="restore-bullet">{strings.restoreBullet}{which}</Button>}
          <Button
            type="text" size="small" aria-expanded={step === "history"} onClick={() => go(step === "history" ? undefined : "history")} data-testid="blame-bullet"
          >
            {strings.bulletHistory}{which}
          </Button>
        </div>
      )}
      <Problem error={error} />
      {step === "history" && <BulletEntries playbook={playbook} bullet={id} />}
    </li>
  );
}
