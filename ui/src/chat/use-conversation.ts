import { useChat } from "@ai-sdk/react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { FileUIPart } from "ai";
import { useEffect, useRef, useCallback, useState, useMemo } from "react";
import { LocalError, call, isStatus } from "../api/call";
import { type Send, endStreams, chatTransport, readEarlier, readChat, useOpenRequests } from "../api/chat";
import { useConnection } from "../api/feed";
import { uploadWithProgress } from "../api/files";
import { threadPath } from "../api/threads";
import type { Thread } from "../api/types";
import { isImage, type ChatMessage, requestsOf, messagesBefore, textOf, unsentMessage } from "./message-parts";

/** "waiting" means waiting for an answer; "working" means any other unfinished run. */
export type Phase = "loading" | "ready" | "working" | "waiting";

/** The phase that a conversation shows, from what is read, what streams, its thread and its open requests. */
function phaseOf(isRead: boolean, busy: boolean, thread: Thread | undefined, open: string[]): Phase {
  if (!isRead) return "loading";
  if (open.length > 0 || thread?.status === "interrupted") return "waiting";
  return busy || thread?.status === "running" ? "working" : "ready";
}

interface VisibilityHandlers {
  onHidden: () => void;
  onVisible: () => void;
}

/** Call the handlers when the page is hidden and when it becomes visible again. */
function usePageVisibility(handlers: VisibilityHandlers): void {
  const latest = useRef(handlers);
  useEffect(() => {
    latest.current = handlers;
  });
  useEffect(() => {
    const changed = () => (document.hidden ? latest.current.onHidden() : latest.current.onVisible());
    document.addEventListener("visibilitychange", changed);
    return () => document.removeEventListener("visibilitychange", changed);
  }, []);
}

/** Send messages with images, with progress and a way to cancel. */
function useUpload() {
  const [uploadPercent, setUploadPercent] = useState<number>();
  const stop = useRef<AbortController>(null);
  const upload = useCallback<Send>(async (url, init) => {
    stop.current = new AbortController();
    setUploadPercent(0);
    try {
      return await uploadWithProgress(url, init, setUploadPercent, stop.current.signal);
    } finally {
      setUploadPercent(undefined);
    }
  }, []);
  return { uploadPercent, upload, cancelUpload: (why: string) => stop.current?.abort(new LocalError(why)) };
}

type Part = ChatMessage["parts"][number];

const textOfPart = (part: Part) => ("text" in part && typeof part.text === "string" ? part.text : "");

/** Return the size of a message, to compare two versions of it. */
const messageLength = ({ parts }: ChatMessage) => parts.reduce((sum, part) => sum + 1 + textOfPart(part).length, 0);

const isComplete = (part: Part) => "state" in part && part.state === "done";

/** Return whether a message is the beginning of another version of it. */
const isPrefix = (message: ChatMessage, other: ChatMessage) => message.parts.every((part, index) => {
  const same = other.parts[index];
  if (same?.type !== part.type) return false;
  return isComplete(part) ? textOfPart(same) === textOfPart(part) : textOfPart(same).startsWith(textOfPart(part));
});

/**
 * Keep showing the longer version of a message while a resumed stream catches up.
 *
 * Otherwise a reconnect would flicker and a form in the message would lose its focus.
 */
export function keepLonger(previous: ChatMessage | undefined, now: ChatMessage | undefined): ChatMessage | undefined {
  const isBehind = previous && now && previous.id === now.id && messageLength(now) < messageLength(previous);
  return isBehind && isPrefix(now, previous) ? previous : now;
}

function useStableMessages(messages: ChatMessage[], streaming: boolean): ChatMessage[] {
  const now = messages.at(-1);
  const [previous, setPrevious] = useState(now);
  const stable = streaming ? keepLonger(previous, now) : now;
  if (stable !== previous) setPrevious(stable);
  return stable && stable !== now ? [...messages.slice(0, -1), stable] : messages;
}

const minPause = 100;
const maxPause = 5_000;
const heldInterval = 5_000;

/** Return a stamp that changes when a thread may have something new to read. */
const stampOf = (thread: Thread | undefined) => (thread ? `${thread.run_id} ${thread.status}` : "none");

interface SyncOptions {
  /** The thread in its last known state. */
  thread: Thread | undefined;
  /** A stream is being read, or there is nothing to read yet. */
  busy: boolean;
  /** Something holds streams back: read every few seconds instead. */
  isHeld: boolean;
  /** Read the messages and resume the stream; return the current thread. */
  read: () => Promise<Thread | undefined>;
}

interface ConversationSync {
  /** The last read failed and is retried. */
  isDisconnected: boolean;
  /** Read again, because a stream ended or was cut off. */
  resync: () => void;
}

/** Keep a conversation equal to the server's: read it when its thread changed and nothing is being read. */
function useConversationSync({ thread, busy, isHeld, read }: SyncOptions): ConversationSync {
  const syncedStamp = useRef<string | null>(null);
  const failures = useRef(0);
  const [round, setRound] = useState(0);
  const [isDisconnected, setDisconnected] = useState(false);
  const stamp = stampOf(thread);
  const latest = useRef(read);
  useEffect(() => {
    latest.current = read;
  });
  const resync = useCallback(() => {
    syncedStamp.current = null;
    setRound((count) => count + 1);
  }, []);

  useEffect(() => {
    if (busy || syncedStamp.current === stamp) return undefined;
    const onSuccess = (now: Thread | undefined) => {
      syncedStamp.current = stampOf(now);
      failures.current = 0;
      setDisconnected(false);
    };
    const onFailure = () => {
      failures.current += 1;
      setDisconnected(true);
      resync();
    };
    // Jitter, so that pages that were cut off together do not reconnect together.
    const pause = Math.min(minPause * 2 ** failures.current, maxPause) * (0.5 + Math.random() / 2);
    const timer = setTimeout(() => void latest.current().then(onSuccess, onFailure), round === 0 ? 0 : pause);
    return () => clearTimeout(timer);
  }, [busy, stamp, round, resync]);
  useEffect(() => {
    if (!isHeld) return undefined;
    const readOn = () => {
      endStreams();
      resync();
    };
    readOn();
    const timer = setInterval(readOn, heldInterval);
    return () => {
      clearInterval(timer);
      resync();
    };
  }, [isHeld, resync]);
  return { isDisconnected, resync };
}

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
