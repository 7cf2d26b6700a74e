import { visible } from "../base/visible";
import { MarkedText } from "./marked-text";

/** An agent's text: never HTML, links or images, with hidden characters escaped and mixed alphabets marked. */
export function AgentText({ text }: { text: string }) {
  return <span className="agent-text"><MarkedText text={visible(text)} /></span>;
}
