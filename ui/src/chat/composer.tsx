import { Sender } from "@ant-design/x";
import type { FileUIPart } from "ai";
import { Button, Input, Progress, type ButtonProps } from "antd";
import { useState, useRef, type DragEvent, type ReactNode, createElement, type ComponentProps, type ComponentType, type KeyboardEvent } from "react";
import { visible } from "../base/visible";
import { ruleText } from "../strings/catalogue";
import { useChatStrings } from "../strings/chat";
import type { Phase } from "./use-conversation";

/** Media types that the server accepts. The server checks the bytes; the page checks the type from the browser. */
const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const maxImages = 4;
const maxBytes = 5 * 1024 * 1024;

function read(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve({ type: "file", mediaType: file.type, filename: file.name || "image", url: String(reader.result) }));
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
    reader.readAsDataURL(file);
  });
}

interface ImageSelection {
  images: FileUIPart[];
  /** The reason if the newest file was refused. */
  problem: string;
  add: (files: Iterable<File>) => Promise<void>;
  remove: (image: FileUIPart) => void;
  /** Replace all images. */
  replace: (images: FileUIPart[]) => void;
}

/** The images of the message that is being written; they exist only in this tab. */
export function useImages(takesImages: boolean): ImageSelection {
  const strings = useChatStrings();
  const [images, setImages] = useState<FileUIPart[]>([]);
  const [problem, setProblem] = useState("");
  const refusalOf = ({ type, size }: File): string => {
    if (!takesImages) return strings.texts.fields.images_not_accepted;
    if (!imageTypes.includes(type)) return strings.texts.fields.image_type;
    return size > 0 && size <= maxBytes ? "" : ruleText("image_size", { max_bytes: maxBytes }, strings);
  };
  const add = async (files: Iterable<File>) => {
    const candidates = [...files];
    const refusal = candidates.map(refusalOf).find(Boolean);
    const accepted = candidates.filter((file) => !refusalOf(file));
    setProblem(refusal ?? "");
    const loaded = await Promise.all(accepted.map(read)).catch(() => []);
    if (loaded.length < accepted.length) setProblem(strings.texts.fields.image_missing);
    if (images.length + loaded.length > maxImages) setProblem(ruleText("too_many_images", { max: maxImages }, strings));
    setImages((now) => [...now, ...loaded].slice(0, maxImages));
  };
  const replace = (replacements: FileUIPart[]) => {
    setProblem("");
    setImages(replacements);
  };
  return { images, problem, add, remove: (image) => replace(images.filter((one) => one !== image)), replace };
}

/** The images of the next message, each with a button to remove it. */
function SelectedImages({ selection: { images, remove }, focusMessage }: { selection: ImageSelection; focusMessage: (() => void) | undefined }) {
  const strings = useChatStrings();
  if (images.length === 0) return null;
  return (
    <ul className="chosen-images" aria-label={strings.messageImages} data-testid="chosen-images">
      {images.map((image, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- the same image may be selected twice
        <li key={index}>
          <img src={image.url} alt={visible(image.filename ?? "")} />
          <Button
            size="small"
            aria-label={strings.removeImage(visible(image.filename ?? ""))}
            data-testid="remove-image"
            onClick={() => {
              remove(image);
              // The focused button was removed, so the focus moves to the message.
              focusMessage?.();
            }}
          >
            ×
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** The button that opens the browser's file chooser. */
function ImageButton({ add, disabled }: { add: ImageSelection["add"]; disabled: boolean }) {
  const { attachImages } = useChatStrings();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button type="text" aria-label={attachImages} title={attachImages} disabled={disabled} data-testid="attach-images" onClick={() => input.current?.click()}>
        <svg viewBox="0 0 24 24" width="18" height="18" fill="none" stroke="currentColor" strokeWidth="1.8" aria-hidden="true">
          <rect x="3" y="4" width="18" height="16" rx="2" /><circle cx="9" cy="10" r="1.6" /><path d="m4 18 5-5 4 4 3-3 4 4" />
        </svg>
      </Button>
      <input
        ref={input} type="file" hidden multiple accept={imageTypes.join(",")} data-testid="image-input"
        onChange={({ target }) => {
          void add([...(target.files ?? [])]);
          target.value = "";
        }}
      />
    </>
  );
}

/** A drop target for images. */
function ImageDropTarget({ add, children }: { add: ImageSelection["add"]; children: ReactNode }) {
  const [isOver, setOver] = useState(false);
  const dragOver = (event: DragEvent, now: boolean) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setOver(now);
  };
  const drop = (event: DragEvent) => {
    dragOver(event, false);
    if (event.dataTransfer.files.length > 0) void add([...event.dataTransfer.files]);
  };
  return (
    <div className="drop-images" data-over={isOver} onDragOver={(event) => dragOver(event, true)} onDragLeave={(event) => dragOver(event, false)} onDrop={drop}>
      {children}
    </div>
  );
}

const storageKey = (chat: string) => `ringi.chat.${chat}`;

function readDraft(chat: string): string {
  try {
    return window.sessionStorage.getItem(storageKey(chat)) ?? "";
  } catch {
    return "";
  }
}

function saveDraft(chat: string, text: string): void {
  try {
    if (text) window.sessionStorage.setItem(storageKey(chat), text);
    else window.sessionStorage.removeItem(storageKey(chat));
  } catch {
    // Without storage the draft is lost with the page.
  }
}

/** Keep an unsent message across reloads of the tab. */
export function useMessageDraft(chat: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readDraft(chat));
  const type = (newText: string) => {
    saveDraft(chat, newText);
    setText(newText);
  };
  return [text, type];
}

interface ComposerProps {
  text: string;
  onText: (text: string) => void;
  phase: Phase;
  /** True if this person can see an open question of the run. */
  hasOpenQuestion: boolean;
  isStopping: boolean;
  selection: ImageSelection;
  /** Upload progress of a message with images, in percent. */
  uploadPercent?: number | undefined;
  onSend: (text: string) => void;
  onStop: () => void;
  onLeave: () => void;
  focusMessage?: () => void;
  takesImages?: boolean;
  placeholder?: string;
}

function useStatusText({ phase, hasOpenQuestion, isStopping, uploadPercent }: ComposerProps): string {
  const strings = useChatStrings();
  if (uploadPercent !== undefined) return strings.uploadingImages;
  if (isStopping) return strings.stopping;
  if (phase === "waiting") return hasOpenQuestion ? strings.waitingForYou : strings.waitingForOthers;
  return phase === "working" ? strings.agentIsAnswering : strings.enterKeyHint;
}

const statusId = "chat-says";

/** The text area with its label; Sender would also label the box around it. */
function MessageBox(props: ComponentProps<typeof Input.TextArea>) {
  const { messageLabel } = useChatStrings();
  return <Input.TextArea {...props} aria-label={messageLabel} aria-describedby={statusId} data-testid="message-box" />;
}

const components = { input: MessageBox };

/** An icon button with an accessible name. */
function iconButton(button: ComponentType<ButtonProps>, name: string, testId: string, disabled: boolean) {
  const props = { "aria-label": name, title: name, disabled, "data-testid": testId };
  return createElement(button, props);
}

/** The message input. It is always editable; sending is possible when the agent has finished. */
export function Composer(props: ComposerProps) {
  const { text, onText, phase, isStopping, selection, uploadPercent, onSend, onStop, onLeave, focusMessage, takesImages, placeholder } = props;
  const strings = useChatStrings();
  const statusText = useStatusText(props);
  const canStop = phase === "working" || phase === "waiting";
  const isEmpty = !text.trim() && selection.images.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    onLeave();
  };
  return (
    <div className="chat-composer" data-phase={phase}>
      <ImageDropTarget add={selection.add}>
        <Sender
          components={components} value={text} onChange={onText} placeholder={placeholder ?? strings.messagePlaceholder} autoSize={{ minRows: 1, maxRows: 8 }}
          loading={phase !== "ready"} onKeyDown={onKeyDown}
          onSubmit={(message) => isEmpty || onSend(message.trim())} onCancel={onStop}
          onPasteFile={(files) => void selection.add(files)}
          header={<SelectedImages selection={selection} focusMessage={focusMessage} />}
          prefix={takesImages && <ImageButton add={selection.add} disabled={phase === "loading"} />}
          suffix={(_, { components: buttons }) => (canStop
            ? iconButton(buttons.LoadingButton, strings.stop, "stop", isStopping)
            : iconButton(buttons.SendButton, strings.send, "send", isEmpty || phase === "loading"))}
        />
      </ImageDropTarget>
      {uploadPercent !== undefined && <Progress percent={uploadPercent} size="small" aria-label={strings.uploadingImages} data-testid="sending-images" />}
      {selection.problem && <p role="alert" className="file-problem" data-testid="image-problem">{selection.problem}</p>}
      <p id={statusId} className="quiet" data-testid="composer-status">{statusText}</p>
    </div>
  );
}
