import { Sender } from "@ant-design/x";
import { Input, Progress, type ButtonProps } from "antd";
import { createElement, type ComponentProps, type ComponentType, type KeyboardEvent } from "react";
import { ImageButton, SelectedImages, ImageDropTarget } from "./image-picker";
import type { ImageSelection } from "./use-images";
import type { Phase } from "./phase";
import { useChatStrings } from "../strings/chat";

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
