import { Sender } from "@ant-design/x";
import { Input, Progress, type ButtonProps } from "antd";
import { createElement, type ComponentProps, type ComponentType, type KeyboardEvent } from "react";
import { ChooseImages, ChosenList, DropImages } from "./image-picker";
import type { ChosenImages } from "./use-images";
import type { Phase } from "./use-conversation";
import { useChatStrings } from "./strings";

interface ComposerProps {
  text: string;
  onText: (text: string) => void;
  phase: Phase;
  /** Whether this person can see an open question of the run. */
  hasOpenQuestion: boolean;
  isStopping: boolean;
  chosen: ChosenImages;
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
  const words = useChatStrings();
  if (uploadPercent !== undefined) return words.sendingImages;
  if (isStopping) return words.stopping;
  if (phase === "waiting") return hasOpenQuestion ? words.waitsForYou : words.waitsForOthers;
  return phase === "working" ? words.agentAnswers : words.enterSends;
}

const statusId = "chat-says";

/** The text area with its label; Sender would also label the box around it. */
function MessageBox(props: ComponentProps<typeof Input.TextArea>) {
  const { yourMessage } = useChatStrings();
  return <Input.TextArea {...props} aria-label={yourMessage} aria-describedby={statusId} data-testid="message-box" />;
}

const components = { input: MessageBox };

/** An icon button with an accessible name. */
function iconButton(button: ComponentType<ButtonProps>, name: string, testId: string, disabled: boolean) {
  const props = { "aria-label": name, title: name, disabled, "data-testid": testId };
  return createElement(button, props);
}

/** The message input. It is always editable; sending is possible when the agent has finished. */
export function Composer(props: ComposerProps) {
  const { text, onText, phase, isStopping, chosen, uploadPercent, onSend, onStop, onLeave, focusMessage, takesImages, placeholder } = props;
  const words = useChatStrings();
  const statusText = useStatusText(props);
  const canStop = phase === "working" || phase === "waiting";
  const isEmpty = !text.trim() && chosen.images.length === 0;
  const onKeyDown = (event: KeyboardEvent) => {
    // Ignore keys of an input method that is composing a character.
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onLeave();
  };
  return (
    <div className="chat-composer" data-phase={phase}>
      <DropImages add={chosen.add}>
        <Sender
          components={components} value={text} onChange={onText} placeholder={placeholder ?? words.writeMessage} autoSize={{ minRows: 1, maxRows: 8 }}
          loading={phase !== "ready"} onKeyDown={onKeyDown}
          onSubmit={(message) => isEmpty || onSend(message.trim())} onCancel={onStop}
          onPasteFile={(files) => void chosen.add(files)}
          header={<ChosenList chosen={chosen} toMessage={focusMessage} />}
          prefix={takesImages && <ChooseImages add={chosen.add} disabled={phase === "loading"} />}
          suffix={(_, { components: buttons }) => (canStop
            ? iconButton(buttons.LoadingButton, words.stop, "stop", isStopping)
            : iconButton(buttons.SendButton, words.send, "send", isEmpty || phase === "loading"))}
        />
      </DropImages>
      {uploadPercent !== undefined && <Progress percent={uploadPercent} size="small" aria-label={words.sendingImages} data-testid="sending-images" />}
      {chosen.problem && <p role="alert" className="file-problem" data-testid="image-problem">{chosen.problem}</p>}
      <p id={statusId} className="quiet" data-testid="composer-status">{statusText}</p>
    </div>
  );
}
