import { useQuery } from "@tanstack/react-query";
import { Button, Empty, Select } from "antd";
import { useId, useState } from "react";
import { call } from "../api/call";
import { threadPath, useAgents } from "../api/threads";
import type { Agent, Thread } from "../api/types";
import { ChatList } from "../chat/chat-list";
import { useKeys } from "../widgets/keys";
import { useMedia } from "../widgets/media";
import { Problem } from "../widgets/problem";
import { go, learningPath, Link, playbookPath, useSearch } from "../widgets/router";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { usePlaybooks } from "./api";
import { Talk } from "./conversation";
import { PlaybookView } from "./playbook";
import type { PlaybookSummary } from "./types";
import { useLearningWords } from "./words";
import "../thread/thread.css";
import "../chat/chat.css";
import "./learning.css";

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `learn-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join("")}`;
}

/** The id of the conversation that is open; a new one has its own from the start, and its address from its first question. */
function useTalkId(id: string | undefined) {
  const [fresh, setFresh] = useState({ id: newId(), used: false });
  if (id === fresh.id && !fresh.used) setFresh({ ...fresh, used: true });
  if (id === undefined && fresh.used) setFresh({ id: newId(), used: false });
  const begin = () => {
    if (id === undefined) go(learningPath(fresh.id));
  };
  return { open: id ?? fresh.id, isNew: id === undefined || id === fresh.id, begin };
}

interface LearnersProps {
  agents: Agent[];
  playbooks: PlaybookSummary[];
  id: string | undefined;
}

function Playbooks({ agents, playbooks, current }: Omit<LearnersProps, "id"> & { current: string | null }) {
  const words = useLearningWords();
  return (
    <ul className="rows playbooks">
      {playbooks.map(({ id, agent, bullets, waiting }) => (
        <li key={id} data-testid="playbook-link" data-id={id}>
          <Link to={playbookPath(id)} className="row" current={id === current}>
            <span className="row-title">{playbooks.length > 1 ? words.playbookOf(visible(agents.find(({ name }) => name === agent)?.title || agent)) : words.playbook}</span>
            <span className="row-facts">{words.bulletCount(bullets)}{waiting > 0 && <span className="row-end">{words.waitingFor(waiting)}</span>}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Earlier({ agents, current }: { agents: Agent[]; current: string | undefined }) {
  const words = useLearningWords();
  const roomy = useMedia("(min-width: 900px)");
  if (roomy) return <ChatList agents={agents} current={current} to={learningPath} />;
  return (
    <details className="chat-list-panel">
      <summary>{words.earlierQuestions}</summary>
      <ChatList key={current} agents={agents} current={current} to={learningPath} />
    </details>
  );
}

function Chooser({ agents, chosen, onChoose }: { agents: Agent[]; chosen: Agent; onChoose: (name: string) => void }) {
  const words = useLearningWords();
  const id = useId();
  return (
    <div className="chat-with">
      <label htmlFor={id}>{words.askOf}</label>
      <Select id={id} value={chosen.name} onChange={onChoose} options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))} data-testid="learner" />
    </div>
  );
}

/** Whom this conversation is with: the thread's own agent, of a new one the chosen. */
function useAgent(agents: Agent[], id: string, isNew: boolean) {
  const [chosen, choose] = useState<string>();
  const { data: thread, error } = useQuery({ queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), enabled: !isNew });
  const name = thread?.agent ?? chosen;
  return { agent: agents.find((one) => one.name === name) ?? agents[0], choose, isKnown: isNew || thread !== undefined || error !== null };
}

function Asking({ agents, playbooks, id }: LearnersProps) {
  const { open, isNew, begin } = useTalkId(id);
  const { agent, choose, isKnown } = useAgent(agents, open, isNew);
  if (!agent || !isKnown) return <Loading />;
  return (
    <>
      {id === undefined && agents.length > 1 && <Chooser agents={agents} chosen={agent} onChoose={choose} />}
      <Talk
        key={open} id={open} agent={agent} isNew={isNew} typedFor={id ?? "new"} onBegin={begin}
        playbook={playbooks.find((one) => one.agent === agent.name)?.id}
      />
    </>
  );
}

function Learners({ agents, playbooks, id }: LearnersProps) {
  const words = useLearningWords();
  const search = new URLSearchParams(useSearch());
  const playbook = id === undefined ? search.get("playbook") : null;
  const nameOf = (agent: string) => agents.find(({ name }) => name === agent)?.title || agent;
  useKeys(words.learningPage, [{ key: "n", label: words.newQuestion, run: () => go("/learning") }]);
  return (
    <div className="chat learning">
      <aside className="chat-sidebar">
        <Button block onClick={() => go("/learning")} data-testid="new-question">{words.newQuestion}</Button>
        <div className="learning-side">
          <Playbooks agents={agents} playbooks={playbooks} current={playbook} />
          <Earlier agents={agents} current={id} />
        </div>
      </aside>
      <div className="chat-main">
        <h1 className="visually-hidden">{words.learningPage}</h1>
        {playbook !== null ? <PlaybookView key={playbook} id={playbook} nameOf={nameOf} /> : <Asking agents={agents} playbooks={playbooks} id={id} />}
      </div>
    </div>
  );
}

/** Ask agents that learn, decide what they learn, and see what they have learned. */
export default function LearningPage({ id }: { id: string | undefined }) {
  const words = useLearningWords();
  const agents = useAgents();
  const playbooks = usePlaybooks();
  const error = agents.error ?? playbooks.error;
  if (error && !(agents.data && playbooks.data)) {
    return <div className="page-column"><Problem error={error} retry={() => void Promise.all([agents.refetch(), playbooks.refetch()])} /></div>;
  }
  if (!agents.data || !playbooks.data) return <Loading className="page-column" />;
  const names = new Set(playbooks.data.items.map(({ agent }) => agent));
  const learners = agents.data.items.filter(({ name }) => names.has(name));
  if (learners.length === 0) {
    return <Empty className="page-column" image={Empty.PRESENTED_IMAGE_SIMPLE} description={words.noLearners} data-testid="no-learners" />;
  }
  return <Learners agents={learners} playbooks={playbooks.data.items} id={id} />;
}
