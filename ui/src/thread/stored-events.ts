import { problemOf } from "../api/call";
import { threadPath } from "../api/threads";
import { basePath } from "../base/base-path";
import type { NumberedEvent, StreamEvent } from "./stream";

/** Read the stored events of a thread after a number, as one reply that ends: a proxy that holds back streams passes it on. */
export async function readStored(id: string, after: number): Promise<NumberedEvent[]> {
  const reply = await fetch(`${basePath}${threadPath(id)}/stream?after=${after}&follow=false`, { credentials: "same-origin" });
  if (!reply.ok) throw await problemOf(reply);
  return (await reply.text()).split("\n\n").flatMap((text) => {
    const [, number] = /^id: (\d+)$/m.exec(text) ?? [];
    const [, data] = /^data: (.*)$/m.exec(text) ?? [];
    // Named events repeat what others say in another form.
    return number === undefined || data === undefined || /^event: /m.test(text) ? [] : [{ number: Number(number), event: JSON.parse(data) as StreamEvent }];
  });
}
