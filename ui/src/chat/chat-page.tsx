import { Button, Empty, Select } from "antd";
import { Suspense, useId, useState } from "react";
import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import { takesMessages } from "../api/chat";
import { pausesOf, usePauses } from "../api/pauses";
import { threadPath, useAgents } from "../api/threads";
import type { Agent, Thread } from "../api/types";
import { PauseAlerts } from "../pauses/pause-alerts";
import { useKeys } from "../base/keys";
import { useMedia } from "../base/browser";
import { Problem } from "../widgets/problem";
import { chatPath, go } from "../base/router";
import { visible } from "../base/visible";
import { Loading } from "../widgets/loading";
import { ChatList } from "./chat-list";
import { ConversationView } from "./conversation-view";
import { useConversation } from "./use-conversation";
import { useApplications, type ConversationProps } from "../request/applications";
import { useChatStrings } from "../strings/chat";
import "../thread/thread.css";
import "./chat.css";

function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return `chat-${Array.from(bytes, (byte) => (byte % 36).toString(36)).join("")}`;
}

/** Return the id of the open chat. A new chat has an id at once, and a URL after its first message. */
function useChatId(id: string | undefined) {
  const [newChat, setNewChat] = useState({ id: newId(), used: false });
  if (id === newChat.id && !newChat.used) setNewChat({ ...newChat, used: true });
  if (id === undefined && newChat.used) setNewChat({ id: newId(), used: false });
  const start = () => {
    if (id === undefined) go(chatPath(newChat.id));
  };
  return { open: id ?? newChat.id, isNew: id === undefined || id === newChat.id, start };
}

function AgentSelect({ agents, selected, onSelect }: { agents: Agent[]; selected: Agent; onSelect: (name: string) => void }) {
  const strings = useChatStrings();
  const id = useId();
  return (
    <div className="chat-with">
      <label htmlFor={id}>{strings.chatAgentLabel}</label>
      <Select
        id={id} value={selected.name} onChange={onSelect} data-testid="chat-agent"
        options={agents.map(({ name, title }) => ({ value: name, label: visible(title || name) }))}
      />
    </div>
  );
}

/** Return the agent of a chat: the thread's own, or the selected one for a new chat. */
function useAgent(agents: Agent[], id: string, isNew: boolean) {
  const [selectedName, selectAgent] = useState<string>();
  const { data: thread, error } = useQuery({
    queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), enabled: !isNew,
  });
  const name = thread?.agent ?? selectedName;
  const agent = agents.find((one) => one.name === name) ?? agents[0];
  return { agent, selectAgent, isKnown: isNew || thread !== undefined || error !== null };
}

function ChatListPanel({ agents, current }: { agents: Agent[]; current: string | undefined }) {
  const strings = useChatStrings();
  const isWide = useMedia("(min-width: 900px)");
  if (isWide) return <ChatList agents={agents} current={current} />;
  return (
    <details className="chat-list-panel">
      <summary>{strings.earlierChats}</summary>
      {/* A key per chat collapses the list when another chat opens. */}
      <ChatList key={current} agents={agents} current={current} />
    </details>
  );
}

function PlainConversation(props: ConversationProps) {
  return <ConversationView {...props} conversation={useConversation(props.id, props.agent.name, props.isNew)} />;
}

/** The conversation of the application that has this agent, or a plain one. */
function Conversation(props: ConversationProps) {
  const own = useApplications().find(({ conversation }) => conversation?.isWith(props.agent))?.conversation;
  return own ? <Suspense fallback={<Loading />}><own.View {...props} /></Suspense> : <PlainConversation {...props} />;
}

function Chats({ agents, id }: { agents: Agent[]; id: string | undefined }) {
  const strings = useChatStrings();
  const { open, isNew, start } = useChatId(id);
  const { agent, selectAgent, isKnown } = useAgent(agents, open, isNew);
  useKeys(strings.chats, [{ key: "n", label: strings.newChat, run: () => go("/chat") }]);
  const pauses = usePauses();
  if (!agent) return <Empty className="page-column" image={Empty.PRESENTED_IMAGE_SIMPLE} description={strings.noChatAgents} data-testid="no-chat-agents" />;
  return (
    <div className="chat">
      <aside className="chat-sidebar">
        <Button block onClick={() => go("/chat")} data-testid="new-chat">{strings.newChat}</Button>
        <ChatListPanel key={open} agents={agents} current={id} />
      </aside>
      <div className="chat-main">
        <h1 className="visually-hidden">{strings.chatPage}</h1>
        {id === undefined && agents.length > 1 && <AgentSelect agents={agents} selected={agent} onSelect={selectAgent} />}
        <PauseAlerts pauses={pausesOf(pauses, agent.name)} />
        {isKnown ? <Conversation key={open} id={open} agent={agent} isNew={isNew} draftKey={id ?? "new"} onStart={start} /> : <Loading />}
      </div>
    </div>
  );
}

/** The chat page; requests are answered in place. */
export default function ChatPage({ id }: { id: string | undefined }) {
  const { data, error, refetch } = useAgents(takesMessages);
  if (error && !data) return <div className="page-column"><Problem error={error} retry={() => void refetch()} /></div>;
  if (!data) return <Loading className="page-column" />;
  return <Chats agents={data.items.filter(takesMessages)} id={id} />;
}
