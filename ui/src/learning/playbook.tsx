import { Button, Progress, Segmented } from "antd";
import { useState } from "react";
import { isStatus } from "../api/call";
import { useMessages } from "../widgets/messages";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { usePlaybook, useTidy } from "./api";
import { Bullets } from "./bullets";
import { Compare } from "./compare";
import { Entries } from "./entries";
import type { Playbook } from "./types";
import { useLearningWords } from "./words";

type Tab = "bullets" | "history" | "compare";
const tabs: Tab[] = ["bullets", "history", "compare"];

function Head({ playbook, name }: { playbook: Playbook; name: string }) {
  const words = useLearningWords();
  const message = useMessages();
  const tidy = useTidy(playbook.id);
  const { tokens, budget, head, bullets, measures } = playbook;
  const active = bullets.filter(({ isActive }) => isActive).length;
  const share = budget > 0 ? Math.round((tokens / budget) * 100) : 0;
  return (
    <header className="playbook-head">
      <div className="playbook-title">
        <h2>{words.playbookOf(visible(name))}</h2>
        <Button
          loading={tidy.isPending} disabled={active < 2} onClick={() => tidy.mutate(undefined, { onSuccess: () => void message.success(words.tidyStarted) })}
          data-testid="tidy"
        >
          {words.tidy}
        </Button>
      </div>
      <p className="quiet">{words.playbookHint}</p>
      <div className="budget">
        <Progress percent={share} showInfo={false} size="small" aria-label={words.budget(tokens, budget)} status={share >= 90 ? "exception" : "normal"} />
        <span className="quiet" data-testid="budget">
          {words.bulletCount(active)} · {words.budget(tokens, budget)} · <span data-testid="playbook-version" data-version={head}>{words.versionOf(head)}</span>
        </span>
      </div>
      {measures.proposed > 0 && <p className="quiet" data-testid="measures">{words.measured(measures)}</p>}
      <Problem error={tidy.error} />
    </header>
  );
}

/** What an agent has learned: as it stands, how it came to be so, and the way back. */
export function PlaybookView({ id, nameOf }: { id: string; nameOf: (agent: string) => string }) {
  const words = useLearningWords();
  const { data, error, refetch } = usePlaybook(id);
  const [tab, setTab] = useState<Tab>("bullets");
  if (error && !data) {
    return isStatus(error, 404) ? <p className="playbook-page">{words.noSuchQuestion}</p> : <Problem error={error} retry={() => void refetch()} />;
  }
  if (!data) return <Loading className="playbook-page" />;
  return (
    <div className="playbook-page" data-testid="playbook" data-id={id}>
      <Head playbook={data} name={nameOf(data.agent)} />
      <Segmented aria-label={words.playbook} options={tabs.map((value) => ({ value, label: words.playbookTabs[value] }))} value={tab} onChange={setTab} />
      {tab === "bullets" && <Bullets playbook={data} />}
      {tab === "history" && <Entries id={id} head={data.head} />}
      {tab === "compare" && <Compare id={id} head={data.head} />}
    </div>
  );
}
