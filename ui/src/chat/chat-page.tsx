import { Button, Empty, Select } from "antd";
import { useId, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import { takesMessages } from "../api/chat";
import { threadPath, useAgents } from "../api/threads";
import type { Agent, Thread } from "../api/types";
import { useKeys } from "../widgets/keys";
import { useMedia } from "../widgets/media";
import { Problem } from "../widgets/problem";
import { chatPath, go } from "../widgets/router";
import { visible } from "../widgets/visible";
import { Loading } from "../widgets/loading";
import { EarlierChats } from "./earlier";
import { Talk } from "./talk";
import { useChatWords } from "./words";
import "../thread/thread.css";
import "./chat.css";

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `chat-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join("")}`;
}

/** The id of the chat that is open; a new one has its own from the start, and its address from its first message. */
function useChatId(id: string | undefined) {
  const [fresh, setFresh] = useState({ id: newId(), used: false });
  if (id === fresh.id && !fresh.used) setFresh({ ...fresh, used: true });
  if (id === undefined && fresh.used) setFresh({ id: newId(), used: false });
  const begin = () => {
    if (id === undefined) go(chatPath(fresh.id));
  };
  return { open: id ?? fresh.id, isNew: id === undefined || id === fresh.id, begin };
}

function Chooser({ agents, chosen, onChoose }: { agents: Agent[]; chosen: Agent; onChoose: (name: string) => void }) {
  const words = useChatWords();
  const id = useId();
  return (
    <div className="chat-with">
      <label htmlFor={id}>{words.chatWith}</label>
      <Select
        id={id} value={chosen.name} onChange={onChoose} data-testid="chat-agent"
        options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))}
      />
    </div>
  );
}

/** Whom this chat is with: the thread's own agent, of a new one the chosen. */
function useAgent(agents: Agent[], id: string, isNew: boolean) {
  const [chosen, choose] = useState<string>();
  const { data: thread, error } = useQuery({
    queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), enabled: !isNew,
  });
  const name = thread?.agent ?? chosen;
  const agent = agents.find((one) => one.name === name) ?? agents[0];
  return { agent, choose, isKnown: isNew || thread !== undefined || error !== null };
}

function Earlier({ agents, current }: { agents: Agent[]; current: string | undefined }) {
  const words = useChatWords();
  const roomy = useMedia("(min-width: 900px)");
  if (roomy) return <EarlierChats agents={agents} current={current} />;
  return (
    <details className="chat-earlier">
      <summary>{words.earlierChats}</summary>
      {/* Another chat is another list, folded again. */}
      <EarlierChats key={current} agents={agents} current={current} />
    </details>
  );
}

function Chats({ agents, id }: { agents: Agent[]; id: string | undefined }) {
  const words = useChatWords();
  const { open, isNew, begin } = useChatId(id);
  const { agent, choose, isKnown } = useAgent(agents, open, isNew);
  useKeys(words.chats, [{ key: "n", label: words.newChat, run: () => go("/chat") }]);
  if (!agent) return <Empty className="column" image={Empty.PRESENTED_IMAGE_SIMPLE} description={words.noChatAgents} data-testid="no-chat-agents" />;
  return (
    <div className="chat">
      <aside className="chat-side">
        <Button block onClick={() => go("/chat")} data-testid="new-chat">{words.newChat}</Button>
        <Earlier key={open} agents={agents} current={id} />
      </aside>
      <div className="chat-main">
        <h1 className="visually-hidden">{words.chatPage}</h1>
        {id === undefined && agents.length > 1 && <Chooser agents={agents} chosen={agent} onChoose={choose} />}
        {isKnown ? <Talk key={open} id={open} agent={agent} isNew={isNew} typedFor={id ?? "new"} onBegin={begin} /> : <Loading />}
      </div>
    </div>
  );
}

/** Talk with agents; what they ask is answered in place. */
export default function ChatPage({ id }: { id: string | undefined }) {
  const { data, error, refetch } = useAgents();
  if (error && !data) return <div className="column"><Problem error={error} retry={() => void refetch()} /></div>;
  if (!data) return <Loading className="column" />;
  return <Chats agents={data.items.filter(takesMessages)} id={id} />;
}
