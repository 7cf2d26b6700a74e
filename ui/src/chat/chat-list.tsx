import { useThreads } from "../api/threads";
import type { Agent, ThreadSummary } from "../api/types";
import { ThreadStatusTag } from "../thread/status-tag";
import { shortTime } from "../widgets/time-format";
import { Problem } from "../widgets/problem";
import { chatPath, Link } from "../base/router";
import { visible } from "../base/visible";
import { useChatStrings } from "../strings/chat";

/** Return the title of a chat: from its agent, its first input, or its agent's name. */
function chatTitle({ values, title, agent }: ThreadSummary, agents: Agent[]): string {
  const chatName = [values.title, values.query].find((one) => typeof one === "string" && one !== "");
  if (typeof chatName === "string") return chatName;
  return title ?? (agents.find(({ name }) => name === agent)?.title || agent);
}

interface ChatListItemProps {
  thread: ThreadSummary;
  agents: Agent[];
  current: boolean;
  to: (id: string) => string;
}

function ChatListItem({ thread, agents, current, to }: ChatListItemProps) {
  const { language } = useChatStrings();
  const { id, status, updated_at } = thread;
  const name = visible(chatTitle(thread, agents));
  return (
    <li data-testid="chat-list-item" data-id={id} data-status={status}>
      <Link to={to(id)} className="row" current={current}>
        <span className="row-title" title={name}>{name}</span>
        <span className="row-facts">
          <time dateTime={updated_at} title={updated_at}>{shortTime(updated_at, language)}</time>
          {status !== "done" && <ThreadStatusTag status={status} />}
        </span>
      </Link>
    </li>
  );
}

interface ChatListProps {
  agents: Agent[];
  current: string | undefined;
  to?: (id: string) => string;
}

/** Return whether a thread runs beside a conversation and belongs to it. */
const isChildThread = ({ id }: ThreadSummary) => /~q\d+$/.test(id);

/** The newest threads of agents that accept messages. */
export function ChatList({ agents, current, to = chatPath }: ChatListProps) {
  const strings = useChatStrings();
  const { data, error, refetch } = useThreads({}, null);
  const names = new Set(agents.map(({ name }) => name));
  const chats = (data?.items ?? []).filter((thread) => names.has(thread.agent) && !isChildThread(thread));
  return (
    <nav aria-label={strings.earlierChats}>
      <Problem error={data ? null : error} retry={() => void refetch()} />
      {data && chats.length === 0 && <p className="quiet">{strings.noChats}</p>}
      <ul className="rows">
        {chats.map((thread) => <ChatListItem key={thread.id} thread={thread} agents={agents} current={thread.id === current} to={to} />)}
      </ul>
    </nav>
  );
}
