import { Bubble, type BubbleItemType, type BubbleListProps } from "@ant-design/x";
import { type ReactNode, createContext, useContext, useMemo } from "react";
import { visible } from "../base/visible";
import { useChatStrings } from "../strings/chat";
import { ItemBody } from "../thread/item-body";
import { MessageImages } from "../thread/message-images";
import { Prose } from "../values/prose";
import { Disclosure } from "../widgets/disclosure";
import { type WorkflowRun, isImage, itemsOf, requestsOf, textOf, type ChatItem, type ChatMessage } from "./message-parts";
import { Question } from "./question";

/** Messages that repeat a plan card, by `textKey`, each with the line that replaces the text. */
export type CardTexts = ReadonlyMap<string, string>;

export const CardTextsContext = createContext<CardTexts>(new Map());

/** What shows the output of a workflow where it was started. */
export const WorkflowContext = createContext<Companion["showWorkflow"]>(() => null);

export const textKey = (message: string, item: number) => `${message} ${item}`;

/** A card between the messages. */
export interface Aside {
  key: string;
  after: string | undefined;
  content: ReactNode;
}

/** What an application adds to its conversations. */
export interface Companion {
  asides: Aside[];
  cardTexts: CardTexts | undefined;
  showWorkflow: (run: WorkflowRun, onDecided: () => void) => ReactNode;
  /** What stands above the composer. */
  bar: ReactNode;
}

interface DecisionHandler {
  onDecided: () => void;
}

function MessagePart({ item, of, onDecided }: DecisionHandler & { item: ChatItem; of: string }) {
  const { thinking } = useChatStrings();
  const showWorkflow = useContext(WorkflowContext);
  const line = useContext(CardTextsContext).get(textKey(of, item.key));
  if (line !== undefined && item.kind === "message") {
    return <Disclosure id={`${of}-${item.key}`} summary={<span className="quiet">{visible(line)}</span>} testId="on-card"><ItemBody item={item} /></Disclosure>;
  }
  if (item.kind === "thought") {
    return <Disclosure id={`${of}-${item.key}`} summary={<span className="quiet">{thinking}</span>} testId="thought"><Prose text={item.text} /></Disclosure>;
  }
  if (item.kind === "workflow") return showWorkflow(item.run, onDecided);
  if (item.kind === "pause") return item.requests.map((id) => <Question key={id} id={id} onDecided={onDecided} />);
  return <ItemBody item={item} />;
}

/** The items of an agent's message, in order and across all its pauses. */
function AgentMessage({ message, onDecided }: DecisionHandler & { message: ChatMessage }) {
  return (
    <div className="chat-parts" data-testid="chat-message" data-role="assistant" data-id={message.id}>
      {itemsOf(message).map((item) => (
        // A stable key keeps a question mounted, and the focus in it, wherever it moves in the message.
        <MessagePart key={item.kind === "pause" ? item.requests[0] : item.key} item={item} of={message.id} onDecided={onDecided} />
      ))}
    </div>
  );
}

function UserMessage({ message }: { message: ChatMessage }) {
  const images = message.parts.filter(isImage);
  return (
    <div className="agent-text" data-testid="chat-message" data-role="user" data-id={message.id}>
      {visible(textOf(message))}
      {images.length > 0 && <MessageImages images={images.map(({ url, filename }) => ({ url, name: filename ?? "" }))} />}
    </div>
  );
}

/** An agent's message may contain a form, so it has the full width. */
const fullWidth = { root: { paddingInlineEnd: 0 } };

/** Memoized: a bubble renders again only when its message changes. */
function useBubbleRoles(agent: string, onDecided: () => void): NonNullable<BubbleListProps["role"]> {
  const { you } = useChatStrings();
  return useMemo(() => {
    const speaker = (who: string) => <span className="visually-hidden">{who}: </span>;
    return {
      user: { placement: "end", header: speaker(you), contentRender: (message: ChatMessage) => <UserMessage message={message} /> },
      assistant: {
        placement: "start", variant: "borderless", header: speaker(agent), styles: fullWidth,
        contentRender: (message: ChatMessage) => <AgentMessage message={message} onDecided={onDecided} />,
      },
      beside: { placement: "start", variant: "borderless", styles: fullWidth, contentRender: (content: ReactNode) => content },
    };
  }, [you, agent, onDecided]);
}

interface BubblesProps extends DecisionHandler {
  messages: ChatMessage[];
  agent: string;
  isUnsent: boolean;
  /** Elements among the messages that are not messages. */
  asides: Aside[];
}

/** Insert each aside after its message; those without a visible message go to the end. */
function withAsides(messages: BubbleItemType[], asides: Aside[]): BubbleItemType[] {
  if (asides.length === 0) return messages;
  const messageKeys = new Set(messages.map(({ key }) => key));
  const items = Map.groupBy(asides, ({ after }) => (after !== undefined && messageKeys.has(after) ? after : undefined));
  const asidesAfter = (key: string | undefined) => (items.get(key) ?? []).map(({ key: name, after, content }): BubbleItemType => ({
    key: name, role: "beside", content: <div data-beside={name} data-floats={after === undefined}>{content}</div>,
  }));
  return [...messages.flatMap((message) => [message, ...asidesAfter(String(message.key))]), ...asidesAfter(undefined)];
}

/** The page scrolls and not the list, so that there is one scroll bar. */
const styles = { scroll: { overflow: "visible" } };

export function Bubbles({ messages, agent, isUnsent, asides, onDecided }: BubblesProps) {
  const role = useBubbleRoles(agent, onDecided);
  const items: BubbleItemType[] = messages.filter((message) => message.role === "user" || itemsOf(message).length > 0).map((message, index, all) => ({
    key: message.id, role: message.role, content: message,
    className: [
      isUnsent && index === all.length - 1 ? "chat-unsent" : "", requestsOf(message).length > 0 ? "chat-asks" : "",
    ].join(" "),
  }));
  return <Bubble.List items={withAsides(items, asides)} role={role} autoScroll={false} styles={styles} />;
}
