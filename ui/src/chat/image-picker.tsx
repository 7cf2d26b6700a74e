import { Button } from "antd";
import type { FileUIPart } from "ai";
import { useRef, useState, type DragEvent, type ReactNode } from "react";
import { visible } from "../base/visible";
import { imageTypes, type ImageSelection } from "./use-images";
import { useChatStrings } from "../strings/chat";

/** The images of the next message, each with a button to remove it. */
export function SelectedImages({ selection: { images, remove }, focusMessage }: { selection: ImageSelection; focusMessage: (() => void) | undefined }) {
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
export function ImageButton({ add, disabled }: { add: ImageSelection["add"]; disabled: boolean }) {
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
export function ImageDropTarget({ add, children }: { add: ImageSelection["add"]; children: ReactNode }) {
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

export const isImage = (part: { type: string; mediaType?: string }): part is FileUIPart =>
  part.type === "file" && part.mediaType?.startsWith("image/") === true;
