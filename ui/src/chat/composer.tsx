import { Sender } from "@ant-design/x";
import { Input, type ButtonProps } from "antd";
import { createElement, type ComponentProps, type ComponentType, type KeyboardEvent } from "react";
import type { Phase } from "./use-conversation";
import { useChatWords } from "./words";

interface ComposerProps {
  text: string;
  onText: (text: string) => void;
  phase: Phase;
  /** A question of the run is this person's to see. */
  asks: boolean;
  isStopping: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
  onLeave: () => void;
  placeholder?: string;
}

function useReason({ phase, asks, isStopping }: ComposerProps): string {
  const words = useChatWords();
  if (isStopping) return words.stopping;
  if (phase === "waiting") return asks ? words.waitsForYou : words.waitsForOthers;
  return phase === "working" ? words.agentAnswers : words.enterSends;
}

const says = "chat-says";

/** The text area with its name; Sender would give the name to the box around it, too. */
function MessageBox(props: ComponentProps<typeof Input.TextArea>) {
  const { yourMessage } = useChatWords();
  return <Input.TextArea {...props} aria-label={yourMessage} aria-describedby={says} data-testid="message-box" />;
}

const components = { input: MessageBox };

/** A button that shows a sign only, with its name. */
function named(button: ComponentType<ButtonProps>, name: string, testId: string, disabled: boolean) {
  const props = { "aria-label": name, title: name, disabled, "data-testid": testId };
  return createElement(button, props);
}

/** Where a person writes: always, also while the agent works; sent it can be when the agent has ended. */
export function Composer(props: ComposerProps) {
  const { text, onText, phase, isStopping, onSend, onStop, onLeave, placeholder } = props;
  const words = useChatWords();
  const reason = useReason(props);
  const canStop = phase === "working" || phase === "waiting";
  const pressed = (event: KeyboardEvent) => {
    // Of an input method that composes a character the key is none of ours.
    if (event.key !== "Escape" || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onLeave();
  };
  return (
    <div className="chat-composer" data-phase={phase}>
      <Sender
        components={components} value={text} onChange={onText} placeholder={placeholder ?? words.writeMessage} autoSize={{ minRows: 1, maxRows: 8 }}
        loading={phase !== "ready"} onKeyDown={pressed}
        onSubmit={(message) => message.trim() && onSend(message.trim())} onCancel={onStop}
        suffix={(_, { components: buttons }) => (canStop
          ? named(buttons.LoadingButton, words.stop, "stop", isStopping)
          : named(buttons.SendButton, words.send, "send", !text.trim() || phase === "loading"))}
      />
      <p id={says} className="quiet" data-testid="composer-says">{reason}</p>
    </div>
  );
}
