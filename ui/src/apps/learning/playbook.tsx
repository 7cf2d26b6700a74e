import { Button, Tag, Empty, Progress, Segmented } from "antd";
import { useId, useState, type ReactNode, Suspense, useMemo } from "react";
import { isStatus } from "../../api/call";
import { lazyWithRetry } from "../../base/browser";
import { visible } from "../../base/visible";
import { NumberInput } from "../../form/number-input";
import { isUnread, type Unread } from "../../form/number-text";
import { TextDiff } from "../../form/text-diff";
import { useLearningStrings, labelOf } from "./strings";
import { AgentText } from "../../widgets/agent-text";
import { Disclosure } from "../../widgets/disclosure";
import { Loading } from "../../widgets/loading";
import { useMessages } from "../../widgets/messages";
import { Problem } from "../../widgets/problem";
import { Timestamp } from "../../widgets/timestamp";
import { useChange, type Bullet, useBullet, type Entry, useDiff, useEntries, type Playbook, usePlaybook, useFindDuplicates } from "./api";
import { Confirm } from "./confirm";
import { EditBullet } from "./edit-bullet";
import { EntryView } from "./entry";
import { BulletScope } from "./scope";
import type { VersionFigures } from "./version-chart";

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
function BulletRow({ playbook, bullet }: { playbook: string; bullet: Bullet }) {
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

/** Return how an entry changed the number of active lines. */
const growth = ({ changes }: Entry) => changes.reduce((sum, { before, after }) => sum + Number(after.isActive) - Number(before?.isActive ?? false), 0);

/**
 * Return the figures by version, oldest first.
 *
 * @param entries The newest entries of the history, newest first.
 * @param active The number of active lines now.
 * @param marks The helpful and misleading marks of all lines now, which include those of older entries.
 */
export function figuresByVersion(entries: readonly Entry[], active: number, marks: { helpful: number; harmful: number }): VersionFigures[] {
  let size = active;
  let { helpful, harmful } = marks;
  return entries.map((entry): VersionFigures => {
    const all = helpful + harmful;
    const found = { version: entry.version, size, accuracy: all > 0 ? helpful / all : null };
    const count = (tag: string) => entry.tags.filter((one) => one.tag === tag).length;
    size -= growth(entry);
    helpful = Math.max(0, helpful - count("helpful"));
    harmful = Math.max(0, harmful - count("harmful"));
    return found;
  }).toReversed();
}

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
function Compare({ id, head }: { id: string; head: number }) {
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

/** Return the versions that were taken back, unless that was taken back in turn; the entries are newest first. */
function undoneVersions(entries: Entry[]): Set<number> {
  const undone = new Set<number>();
  for (const { version, undoes } of entries) if (undoes !== null && !undone.has(version)) undone.add(undoes);
  return undone;
}

/** The history of a playbook, newest first. */
export function Entries({ id, head }: { id: string; head: number }) {
  const strings = useLearningStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useEntries(id, head);
  const entries = data?.pages.flatMap((page) => page.items) ?? [];
  const undone = undoneVersions(entries);
  return (
    <div className="playbook-body">
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && entries.length === 0 && <p className="quiet">{strings.emptyHistory}</p>}
      <ol className="inspector-rows detail" data-testid="entries">
        {entries.map((entry) => <EntryView key={entry.version} entry={entry} playbook={id} isUndone={undone.has(entry.version)} />)}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.earlierHistory}</Button>}
    </div>
  );
}

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
function Bullets({ playbook: { id, bullets, rejected } }: { playbook: Playbook }) {
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

type Tab = "bullets" | "history" | "compare";
const tabs: Tab[] = ["bullets", "history", "compare"];

function Head({ playbook, name }: { playbook: Playbook; name: string }) {
  const strings = useLearningStrings();
  const message = useMessages();
  const search = useFindDuplicates(playbook.id);
  const { tokens, budget, head, bullets, measures } = playbook;
  const active = bullets.filter(({ isActive }) => isActive).length;
  const share = budget > 0 ? Math.round((tokens / budget) * 100) : 0;
  return (
    <header className="playbook-head">
      <div className="playbook-title">
        <h2>{strings.playbookOf(visible(name))}</h2>
        <Button
          loading={search.isPending} disabled={active < 2} onClick={() => search.mutate(undefined, { onSuccess: () => void message.success(strings.findDuplicatesStarted) })}
          data-testid="tidy"
        >
          {strings.findDuplicates}
        </Button>
      </div>
      <p className="quiet">{strings.playbookHint}</p>
      <div className="budget">
        <Progress percent={share} showInfo={false} size="small" aria-label={strings.budget(tokens, budget)} status={share >= 90 ? "exception" : "normal"} />
        <span className="quiet" data-testid="budget">
          {strings.bulletCount(active)} · {strings.budget(tokens, budget)} · <span data-testid="playbook-version" data-version={head}>{strings.versionOf(head)}</span>
        </span>
      </div>
      {measures.proposed > 0 && <p className="quiet" data-testid="measures">{strings.playbookStatistics(measures)}</p>}
      <Problem error={search.error} />
    </header>
  );
}

const VersionChart = lazyWithRetry(() => import("./version-chart"));

/** Size and accuracy by version; a playbook with one version has nothing to compare. Its place is kept while it loads. */
function Versions({ playbook: { id, head, bullets } }: { playbook: Playbook }) {
  const { data } = useEntries(id, head);
  const figures = useMemo(() => {
    const count = (of: (bullet: Playbook["bullets"][number]) => number) => bullets.reduce((sum, bullet) => sum + of(bullet), 0);
    const marks = { helpful: count(({ helpful }) => helpful), harmful: count(({ harmful }) => harmful) };
    return figuresByVersion(data?.pages[0]?.items ?? [], count(({ isActive }) => Number(isActive)), marks);
  }, [data, bullets]);
  if (head < 2) return null;
  return <div className="version-chart-place">{figures.length > 1 && <Suspense fallback={null}><VersionChart figures={figures} /></Suspense>}</div>;
}

/** The playbook of an agent: its bullets, its history and a comparison of versions. */
export function PlaybookView({ id, nameOf }: { id: string; nameOf: (agent: string) => string }) {
  const strings = useLearningStrings();
  const { data, error, refetch } = usePlaybook(id);
  const [tab, setTab] = useState<Tab>("bullets");
  if (error && !data) {
    return isStatus(error, 404) ? <p className="playbook-page">{strings.itemNotFound}</p> : <Problem error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Loading className="playbook-page" />;
  return (
    <div className="playbook-page" data-testid="playbook" data-id={id}>
      <Head playbook={data} name={nameOf(data.agent)} />
      <Versions playbook={data} />
      <Segmented aria-label={strings.playbook} options={tabs.map((value) => ({ value, label: strings.playbookTabs[value] }))} value={tab} onChange={setTab} />
      {tab === "bullets" && <Bullets playbook={data} />}
      {tab === "history" && <Entries id={id} head={data.head} />}
      {tab === "compare" && <Compare id={id} head={data.head} />}
    </div>
  );
}
