import { useStrings } from "../strings";
import { CopyButton } from "../widgets/copy-button";
import { MessageImages } from "./message-images";
import { Prose } from "../values/prose";
import type { ItemOf } from "./stream";

/** A message of the agent or of a person. */
export function Message({ item }: { item: ItemOf<"message"> }) {
  const strings = useStrings();
  const fromUser = item.role === "user";
  return (
    <div className={fromUser ? "message of-user" : "message"}>
      {fromUser && <div className="quiet">{strings.userInput}</div>}
      <div data-testid="message" data-role={item.role} aria-busy={item.open}><Prose text={item.text} /></div>
      {!item.open && item.text !== "" && <CopyButton text={item.text} />}
      {item.images && <MessageImages images={item.images} />}
    </div>
  );
}
