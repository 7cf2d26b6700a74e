import { Button, Empty } from "antd";
import { useState } from "react";
import { Disclosure } from "../widgets/disclosure";
import { AgentText } from "../widgets/agent-text";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import { BulletRow } from "./bullet-row";
import { EditBullet } from "./edit-bullet";
import type { Bullet, Playbook } from "./types";
import { labelOf, useLearningStrings } from "../strings/learning";

interface SectionProps {
  playbook: string;
  section: string;
  bullets: Bullet[];
}

function Section({ playbook, section, bullets }: SectionProps) {
  const strings = useLearningStrings();
  return (
    <section className="bullets" aria-label={labelOf(strings.sections, section)}>
      <h3>{labelOf(strings.sections, section)} <span className="quiet">{bullets.length}</span></h3>
      <ul className="inspector-rows detail">
        {bullets.map((bullet) => <BulletRow key={bullet.id} playbook={playbook} bullet={bullet} />)}
      </ul>
    </section>
  );
}

function RejectedBullets({ rejected }: { rejected: Playbook["rejected"] }) {
  const strings = useLearningStrings();
  if (rejected.length === 0) return null;
  return (
    <Disclosure id="refused-texts" testId="refused-texts" summary={<span>{strings.rejectedBullets(rejected.length)}</span>}>
      <p className="quiet">{strings.rejectedBulletsHint}</p>
      <ul className="learn-list">
        {rejected.map(({ text, at, reason }) => (
          <li key={`${at} ${text}`}>
            <AgentText text={text} /> <span className="quiet"><Timestamp at={at} />{reason && ` · “${visible(reason)}”`}</span>
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}

/** The active bullets by section, then the retired and the rejected ones. */
export function Bullets({ playbook: { id, bullets, rejected } }: { playbook: Playbook }) {
  const strings = useLearningStrings();
  const [adding, setAdding] = useState(false);
  const active = Map.groupBy(bullets.filter(({ isActive }) => isActive), ({ section }) => section);
  const retired = bullets.filter(({ isActive }) => !isActive);
  const order = Object.keys(strings.sections);
  const sections = [...active].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return (
    <div className="playbook-body">
      {sections.length === 0 && (
        <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.emptyPlaybook} data-testid="empty-playbook">
          <span className="quiet">{strings.emptyPlaybookHint}</span>
        </Empty>
      )}
      {sections.map(([section, sectionBullets]) => <Section key={section} playbook={id} section={section} bullets={sectionBullets} />)}
      {adding ? <EditBullet playbook={id} onDone={() => setAdding(false)} />
        : <Button type="dashed" className="add-bullet" onClick={() => setAdding(true)} data-testid="add-bullet">{strings.addBullet}</Button>}
      {retired.length > 0 && (
        <Disclosure id={`retired-${id}`} testId="retired" summary={<span>{strings.retiredBullets(retired.length)}</span>}>
          <ul className="inspector-rows detail">{retired.map((bullet) => <BulletRow key={bullet.id} playbook={id} bullet={bullet} />)}</ul>
        </Disclosure>
      )}
      <RejectedBullets rejected={rejected} />
    </div>
  );
}
