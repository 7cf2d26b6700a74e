import { useChat } from "@ai-sdk/react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { FileUIPart } from "ai";
import { useEffect, useMemo, useRef, useState } from "react";
import { call, isStatus } from "../api/call";
import { chatTransport, readBefore, readChat, useOpen } from "../api/chat";
import { threadPath } from "../api/threads";
import type { Thread } from "../api/types";
import { isImage } from "./image-picker";
import { requestsOf, shownBefore, textOf, unsentOf, type ChatMessage } from "./parts";
import { useSteady } from "./steady";
import { useAttached } from "./use-attached";
import { useHidden } from "./use-hidden";
import { useUpload } from "./use-upload";

/** How long the page may be behind where nothing rings: another tab writes, a run is stopped elsewhere. */
const recheck = 2_000;

/** So often is what streams drawn anew: faster costs more than the eye sees. */
const throttle = 40;

const isLive = (thread: Thread | undefined) => thread?.status === "running" || thread?.status === "interrupted";

/** "waiting" is for an answer to a question; "working" is all else that is not at its end. */
export type Phase = "loading" | "ready" | "working" | "waiting";

export interface Conversation {
  messages: ChatMessage[];
  phase: Phase;
  thread: Thread | undefined;
  /** The open questions that stand in the messages. */
  open: string[];
  lost: boolean;
  /** Why the newest message did not arrive. */
  unsent: Error | undefined;
  isMissing: boolean;
  send: (text: string, images: FileUIPart[]) => void;
  /** How much of a message with images has left, in percent; undefined when none is on its way. */
  sent: number | undefined;
  /** Stop sending it; why is said where the message did not arrive. */
  stopSending: (why: string) => void;
  /** Something else than a message has begun it. */
  begin: () => void;
  sendAgain: () => void;
  /** Show what was said before, and say so in the moment before it is there; undefined when all is shown. */
  showBefore: ((ready: () => void) => Promise<void>) | undefined;
  /** Take the message that did not arrive out of the conversation, and return it. */
  takeBack: () => { text: string; images: FileUIPart[] };
}

function phaseOf(isRead: boolean, busy: boolean, thread: Thread | undefined, open: string[]): Phase {
  if (!isRead) return "loading";
  if (open.length > 0 || thread?.status === "interrupted") return "waiting";
  return busy || thread?.status === "running" ? "working" : "ready";
}

/** One conversation, equal to the server's whatever happens to the connection, this page or the server. */
export function useConversation(id: string, agent: string, isNew: boolean): Conversation {
  const client = useQueryClient();
  const [begun, setBegun] = useState(!isNew);
  const [isRead, setRead] = useState(isNew);
  const [refusal, refuse] = useState<Error>();
  const [unsent, setUnsent] = useState<ChatMessage>();
  const [before, setBefore] = useState<string | null>(null);
  const isBusy = useRef(false);

  const { sent, upload, stopSending } = useUpload();
  const transport = useMemo(() => chatTransport<ChatMessage>(agent, upload), [agent, upload]);
  const chat = useChat<ChatMessage>({
    id, transport, throttle,
    onError: (problem) => {
      if (isStatus(problem, 401)) client.setQueryData(["session"], null);
      refuse(problem);
      attached.again();
    },
    onFinish: ({ isAbort, isError }) => {
      if (!isAbort && !isError) attached.again();
    },
  });
  const { messages, status, setMessages } = chat;
  const busy = status === "submitted" || status === "streaming";
  const now = useRef(messages);
  const place = useRef(before);
  useEffect(() => {
    isBusy.current = busy;
    now.current = messages;
    place.current = before;
  });
  const shown = useSteady(messages, busy);
  const open = useOpen(useMemo(() => [...new Set(shown.flatMap(requestsOf))], [shown]));
  const { data: thread, error } = useQuery({
    queryKey: ["thread", id], queryFn: () => call<Thread>("GET", threadPath(id)), refetchInterval: recheck,
    // Until the server has answered a first message there is none.
    enabled: begun && status !== "submitted",
  });

  const read = async () => {
    const told = await readChat<ChatMessage>(id);
    // What was begun meanwhile is newer.
    if (isBusy.current) return told.thread;
    if (told.thread) client.setQueryData(["thread", id], told.thread);
    // As they are now: a message that was taken back meanwhile would come again.
    const mine = unsentOf(now.current, told.messages);
    setUnsent(mine);
    const known = shownBefore(now.current, told.messages);
    if (known.length === 0) setBefore(told.before);
    setMessages([...known, ...told.messages, ...(mine ? [mine] : [])]);
    setRead(true);
    if (isLive(told.thread)) void chat.resumeStream();
    return told.thread;
  };
  const attached = useAttached({ thread, busy: busy || !begun, read });
  useHidden({ hidden: () => status === "streaming" && void chat.stop(), visible: attached.again });

  const write = (sending: () => Promise<void>) => {
    isBusy.current = true;
    setBegun(true);
    setUnsent(undefined);
    void sending();
  };
  return {
    messages: shown,
    phase: phaseOf(isRead, busy, thread, open),
    thread, open,
    lost: attached.lost,
    unsent: unsent && refusal,
    isMissing: !isNew && isStatus(error, 404),
    // By its parts, so that it stands there at once.
    send: (text, images) => write(() => chat.sendMessage({ role: "user", parts: [...(text ? [{ type: "text" as const, text }] : []), ...images] })),
    sent, stopSending,
    begin: () => setBegun(true),
    showBefore: before === null ? undefined : async (ready) => {
      const told = await readBefore<ChatMessage>(id, before);
      // What is shown was read anew meanwhile, and begins elsewhere: there would be a gap.
      if (place.current !== before) return;
      ready();
      setMessages((all) => [...told.messages, ...all]);
      setBefore(told.before);
    },
    sendAgain: () => write(() => chat.regenerate()),
    takeBack: () => {
      setUnsent(undefined);
      now.current = messages.filter((one) => one !== unsent);
      setMessages(now.current);
      return { text: unsent ? textOf(unsent) : "", images: (unsent?.parts ?? []).filter(isImage) };
    },
  };
}
