import { readUIMessageStream, type UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { itemsOf, type ChatMessage } from "./message-parts";

/** What the page shows of a message after each part of its stream, read by the AI SDK as it streams. */
async function shownAfter(parts: UIMessageChunk[]): Promise<string[][]> {
  const stream = new ReadableStream<UIMessageChunk>({
    start: (reader) => {
      for (const part of parts) reader.enqueue(part);
      reader.close();
    },
  });
  const shown: string[][] = [];
  for await (const message of readUIMessageStream<ChatMessage>({ stream })) {
    shown.push(itemsOf(message).map((item) => (item.kind === "message" ? item.text : item.kind)));
  }
  return shown;
}

const begun = (id: string): UIMessageChunk => ({ type: "text-start", id, providerMetadata: { ringi: { messageId: id } } });
const half: UIMessageChunk[] = [
  { type: "start", messageId: "r1" }, begun("m"), { type: "text-delta", id: "m", delta: "I think that we sh" },
];
const end: UIMessageChunk = { type: "text-end", id: "m" };
const takenBack = (messageId: string): UIMessageChunk => ({ type: "data-ringi-superseded", id: messageId, data: { messageId } });
const whole: UIMessageChunk[] = [
  begun("m~1"), { type: "text-delta", id: "m~1", delta: "We should pay." }, { type: "text-end", id: "m~1" },
];

test.each([[[takenBack("m"), end]], [[end, takenBack("m")]]])("a text goes as soon as it is superseded, before its end or after it", async (parts) => {
  const shown = await shownAfter([...half, ...parts, ...whole]);
  expect(shown).toContainEqual(["I think that we sh"]);
  expect(shown).toContainEqual([]);
  expect(shown.at(-1)).toEqual(["We should pay."]);
});

test("a text that is not named stays", async () => {
  const shown = await shownAfter([...half, end, takenBack("other"), ...whole, { type: "text-start", id: "x" }, { type: "text-delta", id: "x", delta: "Bye." }]);
  expect(shown.at(-1)).toEqual(["I think that we sh", "We should pay.", "Bye."]);
});

const begunAt = (value: unknown): UIMessageChunk => ({ type: "data-ringi-custom", data: { name: "assistant.workflow", value } });

test("a workflow stands where it began, and what only looks like one is not shown", async () => {
  const run = { thread_id: "t~plan-1", action_id: "plan", kind: "plan", version: 1 };
  const others = [null, "plan", [], 7, {}, { ...run, thread_id: 1 }, { ...run, version: "1" }].map(begunAt);
  const shown = await shownAfter([
    { type: "start", messageId: "r1" }, { type: "text-start", id: "a" }, { type: "text-delta", id: "a", delta: "I plan." },
    { type: "text-end", id: "a" }, begunAt(run), ...others, { type: "data-ringi-custom", data: { name: "progress", value: run } },
  ]);
  expect(shown.at(-1)).toEqual(["I plan.", "workflow"]);
});
