import { useQuery } from "@tanstack/react-query";
import { Button, Empty, Select } from "antd";
import { useId, useState } from "react";
import { call } from "../../api/call";
import { threadPath, useAgents } from "../../api/threads";
import type { Agent, Thread } from "../../api/types";
import { ChatList } from "../../chat/chat-list";
import { useKeys } from "../../base/keys";
import { useMedia } from "../../base/browser";
import { Problem } from "../../widgets/problem";
import { go, Link, useSearch } from "../../base/router";
import { learningPath, playbookPath } from "./paths";
import { visible } from "../../base/visible";
import { Loading } from "../../widgets/loading";
import { usePlaybooks, type PlaybookSummary } from "./api";
import { LearningConversation } from "./conversation";
import { PlaybookView } from "./playbook";
import { useLearningStrings } from "./strings";
import "../../thread/thread.css";
import "../../chat/chat.css";
import "./learning.css";

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `learn-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join("")}`;
}

/** Return the id of the open conversation. A new one has an id at once, and a URL after its first question. */
function useConversationId(id: string | undefined) {
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
  const strings = useLearningStrings();
  return (
    <ul className="rows playbooks">
      {playbooks.map(({ id, agent, bullets, waiting }) => (
        <li key={id} data-testid="playbook-link" data-id={id}>
          <Link to={playbookPath(id)} className="row" current={id === current}>
            <span className="row-title">{playbooks.length > 1 ? strings.playbookOf(visible(agents.find(({ name }) => name === agent)?.title || agent)) : strings.playbook}</span>
            <span className="row-facts">{strings.bulletCount(bullets)}{waiting > 0 && <span className="row-end">{strings.waitingFor(waiting)}</span>}</span>
          </Link>
        </li>
      ))}
    </ul>
  );
}

function EarlierQuestions({ agents, current }: { agents: Agent[]; current: string | undefined }) {
  const strings = useLearningStrings();
  const isWide = useMedia("(min-width: 900px)");
  if (isWide) return <ChatList agents={agents} current={current} to={learningPath} />;
  return (
    <details className="chat-list-panel">
      <summary>{strings.earlierQuestions}</summary>
      <ChatList key={current} agents={agents} current={current} to={learningPath} />
    </details>
  );
}

function AgentSelect({ agents, selected, onSelect }: { agents: Agent[]; selected: Agent; onSelect: (name: string) => void }) {
  const strings = useLearningStrings();
  const id = useId();
  return (
    <div className="chat-with">
      <label htmlFor={id}>{strings.agentLabel}</label>
      <Select id={id} value={selected.name} onChange={onSelect} options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))} data-testid="learner" />
    </div>
  );
}

/** Return the agent of a conversation: the thread's own, or the selected one for a new conversation. */
function useAgent(agents: Agent[], id: string, isNew: boolean) {
  const [selectedName, selectAgent] = useState<string>();
  const { data: thread, error } = useQuery({ queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), enabled: !isNew });
  const name = thread?.agent ?? selectedName;
  return { agent: agents.find((one) => one.name === name) ?? agents[0], selectAgent, isKnown: isNew || thread !== undefined || error !== null };
}

function AskPanel({ agents, playbooks, id }: LearnersProps) {
  const { open, isNew, begin } = useConversationId(id);
  const { agent, selectAgent, isKnown } = useAgent(agents, open, isNew);
  if (!agent || !isKnown) return <Loading />;
  return (
    <>
      {id === undefined && agents.length > 1 && <AgentSelect agents={agents} selected={agent} onSelect={selectAgent} />}
      <LearningConversation
        key={open} id={open} agent={agent} isNew={isNew} draftKey={id ?? "new"} onBegin={begin}
        playbook={playbooks.find((one) => one.agent === agent.name)?.id}
      />
    </>
  );
}

function Learners({ agents, playbooks, id }: LearnersProps) {
  const strings = useLearningStrings();
  const search = new URLSearchParams(useSearch());
  const playbook = id === undefined ? search.get("playbook") : null;
  const nameOf = (agent: string) => agents.find(({ name }) => name === agent)?.title || agent;
  useKeys(strings.learningPage, [{ key: "n", label: strings.newQuestion, run: () => go("/learning") }]);
  return (
    <div className="chat learning">
      <aside className="chat-sidebar">
        <Button block onClick={() => go("/learning")} data-testid="new-question">{strings.newQuestion}</Button>
        <div className="learning-side">
          <Playbooks agents={agents} playbooks={playbooks} current={playbook} />
          <EarlierQuestions agents={agents} current={id} />
        </div>
      </aside>
      <div className="chat-main">
        <h1 className="visually-hidden">{strings.learningPage}</h1>
        {playbook !== null ? <PlaybookView key={playbook} id={playbook} nameOf={nameOf} /> : <AskPanel agents={agents} playbooks={playbooks} id={id} />}
      </div>
    </div>
  );
}

/** The page of learning agents: their questions, proposals and playbooks. */
export default function LearningPage({ id }: { id: string | undefined }) {
  const strings = useLearningStrings();
  const playbooks = usePlaybooks();
  const learnerNames = new Set(playbooks.data?.items.map(({ agent }) => agent));
  const agents = useAgents(({ name }) => learnerNames.has(name));
  const error = agents.error ?? playbooks.error;
  if (error && !(agents.data && playbooks.data)) {
    return <div className="page-column"><Problem error={error} retry={() => void Promise.all([agents.refetch(), playbooks.refetch()])} /></div>;
  }
  if (!agents.data || !playbooks.data) return <Loading className="page-column" />;
  const learners = agents.data.items.filter(({ name }) => learnerNames.has(name));
  if (learners.length === 0) {
    return <Empty className="page-column" image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.noLearningAgents} data-testid="no-learners" />;
  }
  return <Learners agents={learners} playbooks={playbooks.data.items} id={id} />;
}
