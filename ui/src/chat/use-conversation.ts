import { useChat } from "@ai-sdk/react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { FileUIPart } from "ai";
import { useEffect, useMemo, useRef, useState } from "react";
import { call, isStatus } from "../api/call";
import { chatTransport, readEarlier, readChat, useOpenRequests } from "../api/chat";
import { useConnection } from "../api/feed";
import { threadPath } from "../api/threads";
import type { Thread } from "../api/types";
import { isImage } from "./image-picker";
import { requestsOf, messagesBefore, textOf, unsentMessage, type ChatMessage } from "./message-parts";
import { phaseOf, type Phase } from "./phase";
import { useStableMessages } from "./stable-messages";
import { useConversationSync } from "./use-conversation-sync";
import { usePageVisibility } from "./use-page-visibility";
import { useUpload } from "./use-upload";

/** Polling interval for changes without an event, such as a message from another tab. */
const refetchInterval = 2_000;

/** Milliseconds between two renders of a stream. */
const throttle = 40;

const isLive = (thread: Thread | undefined) => thread?.status === "running" || thread?.status === "interrupted";

export interface Conversation {
  messages: ChatMessage[];
  phase: Phase;
  thread: Thread | undefined;
  /** The open requests among the messages. */
  openRequests: string[];
  isDisconnected: boolean;
  /** The error of the newest message, if it was not delivered. */
  unsentError: Error | undefined;
  isMissing: boolean;
  send: (text: string, images: FileUIPart[]) => void;
  /** Upload progress of a message with images, in percent; undefined when nothing is uploaded. */
  uploadPercent: number | undefined;
  /** Cancel the upload; the reason is shown with the undelivered message. */
  cancelUpload: (why: string) => void;
  /** Mark the conversation as started by something other than a message. */
  start: () => void;
  sendAgain: () => void;
  /** Load earlier messages and call `ready` just before they appear; undefined when all are loaded. */
  showEarlier: ((ready: () => void) => Promise<void>) | undefined;
  /** Remove the undelivered message from the conversation and return it. */
  withdrawUnsent: () => { text: string; images: FileUIPart[] };
}

/** One conversation, kept equal to the server's across lost connections and restarts. */
export function useConversation(id: string, agent: string, isNew: boolean): Conversation {
  const client = useQueryClient();
  const [isStarted, setStarted] = useState(!isNew);
  const [isRead, setRead] = useState(isNew);
  const [sendError, setSendError] = useState<Error>();
  const [unsent, setUnsent] = useState<ChatMessage>();
  const [earlierCursor, setEarlierCursor] = useState<string | null>(null);
  const isBusy = useRef(false);
  const isHeld = useConnection() === "held";
  const latestIsHeld = useRef(isHeld);

  const { uploadPercent, upload, cancelUpload } = useUpload();
  const transport = useMemo(() => chatTransport<ChatMessage>(agent, upload), [agent, upload]);
  const chat = useChat<ChatMessage>({
    id, transport, throttle,
    onError: (problem) => {
      if (isStatus(problem, 401)) client.setQueryData(["session"], null);
      setSendError(problem);
      sync.resync();
    },
    onFinish: ({ isAbort, isError }) => {
      if (!isAbort && !isError) sync.resync();
    },
  });
  const { messages, status, setMessages } = chat;
  const busy = status === "submitted" || status === "streaming";
  const latestMessages = useRef(messages);
  const latestCursor = useRef(earlierCursor);
  useEffect(() => {
    isBusy.current = busy;
    latestIsHeld.current = isHeld;
    latestMessages.current = messages;
    latestCursor.current = earlierCursor;
  });
  const stableMessages = useStableMessages(messages, busy);
  const openRequests = useOpenRequests(useMemo(() => [...new Set(stableMessages.flatMap(requestsOf))], [stableMessages]));
  const { data: thread, error } = useQuery({
    queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), refetchInterval,
    // The thread exists only after the server has answered the first message.
    enabled: isStarted && status !== "submitted",
  });

  const read = async () => {
    const reply = await readChat<ChatMessage>(id);
    // A message sent in the meantime is newer than this reply.
    if (isBusy.current) return reply.thread;
    if (reply.thread) client.setQueryData(["thread", id], reply.thread);
    // Use the current messages: one may have been withdrawn in the meantime.
    const unsentLocal = unsentMessage(latestMessages.current, reply.messages);
    setUnsent(unsentLocal);
    const earlierMessages = messagesBefore(latestMessages.current, reply.messages);
    if (earlierMessages.length === 0) setEarlierCursor(reply.earlierCursor);
    setMessages([...earlierMessages, ...reply.messages, ...(unsentLocal ? [unsentLocal] : [])]);
    setRead(true);
    if (isLive(reply.thread) && !latestIsHeld.current) void chat.resumeStream();
    return reply.thread;
  };
  const sync = useConversationSync({ thread, busy: busy || !isStarted, isHeld, read });
  usePageVisibility({ onHidden: () => status === "streaming" && void chat.stop(), onVisible: sync.resync });

  const write = (sending: () => Promise<void>) => {
    isBusy.current = true;
    setStarted(true);
    setUnsent(undefined);
    void sending();
  };
  return {
    messages: stableMessages,
    phase: phaseOf(isRead, busy, thread, openRequests),
    thread, openRequests,
    isDisconnected: sync.isDisconnected,
    unsentError: unsent && sendError,
    isMissing: !isNew && isStatus(error, 404),
    // Sent as parts, so that it appears at once.
    send: (text, images) => write(() => chat.sendMessage({ role: "user", parts: [...(text ? [{ type: "text" as const, text }] : []), ...images] })),
    uploadPercent, cancelUpload,
    start: () => setStarted(true),
    showEarlier: earlierCursor === null ? undefined : async (ready) => {
      const page = await readEarlier<ChatMessage>(id, earlierCursor);
      // The messages were read again and start elsewhere, so there would be a gap.
      if (latestCursor.current !== earlierCursor) return;
      ready();
      // At once, not with the next render: a reply that arrives in between would leave them out.
      setMessages((all) => {
        latestMessages.current = [...page.messages, ...all];
        return latestMessages.current;
      });
      setEarlierCursor(page.earlierCursor);
    },
    sendAgain: () => write(() => chat.regenerate()),
    withdrawUnsent: () => {
      setUnsent(undefined);
      latestMessages.current = messages.filter((one) => one !== unsent);
      setMessages(latestMessages.current);
      return { text: unsent ? textOf(unsent) : "", images: (unsent?.parts ?? []).filter(isImage) };
    },
  };
}
