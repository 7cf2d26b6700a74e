import { Button, Progress, Segmented } from "antd";
import { Suspense, useMemo, useState } from "react";
import { isStatus } from "../api/call";
import { lazyWithRetry } from "../base/lazy";
import { useMessages } from "../widgets/messages";
import { Problem } from "../widgets/problem";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { useEntries, usePlaybook, useFindDuplicates } from "./api";
import { Bullets } from "./bullets";
import { Compare } from "./compare";
import { Entries } from "./entries";
import type { Playbook } from "./types";
import { useLearningStrings } from "../strings/learning";
import { figuresByVersion } from "./version-figures";

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
