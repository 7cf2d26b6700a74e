import { readUIMessageStream, type UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { itemsOf, type ChatMessage } from "./message-parts";

/** Return the items that the page shows after each part of a streamed message. */
async function itemsAfter(parts: UIMessageChunk[]): Promise<string[][]> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (reader) => {
      for (const part of parts) reader.enqueue(part);
      reader.close();
    },
  });
  const items: string[][] = [];
  for await (const message of readUIMessageStream<ChatMessage>({ stream })) {
    items.push(itemsOf(message).map((item) => (item.kind === "message" ? item.text : item.kind)));
  }
  return items;
}

const textStart = (id: string): UIMessageChunk => ({ type: "text-start", id, providerMetadata: { ringi: { messageId: id } } });
const half: UIMessageChunk[] = [
  { type: "start", messageId: "r1" }, textStart("m"), { type: "text-delta", id: "m", delta: "I think that we sh" },
];
const end: UIMessageChunk = { type: "text-end", id: "m" };
const removal = (messageId: string): UIMessageChunk => ({ type: "data-ringi-superseded", id: messageId, data: { messageId } });
const whole: UIMessageChunk[] = [
  textStart("m~1"), { type: "text-delta", id: "m~1", delta: "We should pay." }, { type: "text-end", id: "m~1" },
];

test.each([[[removal("m"), end]], [[end, removal("m")]]])("a text goes as soon as it is superseded, before its end or after it", async (parts) => {
  const items = await itemsAfter([...half, ...parts, ...whole]);
  expect(items).toContainEqual(["I think that we sh"]);
  expect(items).toContainEqual([]);
  expect(items.at(-1)).toEqual(["We should pay."]);
});

test("a text that is not named stays", async () => {
  const items = await itemsAfter([...half, end, removal("other"), ...whole, { type: "text-start", id: "x" }, { type: "text-delta", id: "x", delta: "Bye." }]);
  expect(items.at(-1)).toEqual(["I think that we sh", "We should pay.", "Bye."]);
});

const begunAt = (value: unknown): UIMessageChunk => ({ type: "data-ringi-custom", data: { name: "assistant.workflow", value } });

test("a workflow stands where it began, and what only looks like one is not shown", async () => {
  const run = { thread_id: "t~plan-1", action_id: "plan", kind: "plan", version: 1 };
  const others = [null, "plan", [], 7, {}, { ...run, thread_id: 1 }, { ...run, version: "1" }].map(begunAt);
  const items = await itemsAfter([
    { type: "start", messageId: "r1" }, { type: "text-start", id: "a" }, { type: "text-delta", id: "a", delta: "I plan." },
    { type: "text-end", id: "a" }, begunAt(run), ...others, { type: "data-ringi-custom", data: { name: "progress", value: run } },
  ]);
  expect(items.at(-1)).toEqual(["I plan.", "workflow"]);
});
