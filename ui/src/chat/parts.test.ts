import { readUIMessageStream, type UIMessageChunk } from "ai";
import { expect, test } from "vitest";
import { itemsOf, type ChatMessage } from "./parts";

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

const half: UIMessageChunk[] = [
  { type: "start", messageId: "r1" }, { type: "text-start", id: "m" }, { type: "text-delta", id: "m", delta: "I think that we sh" },
];
const whole: UIMessageChunk[] = [
  { type: "text-start", id: "m~1" }, { type: "text-delta", id: "m~1", delta: "We should pay." }, { type: "text-end", id: "m~1" },
];

test("the fragment of a worker that died goes as soon as it is superseded", async () => {
  const shown = await shownAfter([...half, { type: "text-end", id: "m", providerMetadata: { ringi: { superseded: true } } }, ...whole]);
  expect(shown).toContainEqual(["I think that we sh"]);
  expect(shown).toContainEqual([]);
  expect(shown.at(-1)).toEqual(["We should pay."]);
});

type Metadata = Extract<UIMessageChunk, { type: "text-end" }>["providerMetadata"];
const others: Metadata[] = [undefined, { ringi: {} }, { ringi: { superseded: "true" } }, { openai: { superseded: true } }];

test.each(others)("a text with other metadata stays: %j", async (providerMetadata) => {
  const shown = await shownAfter([...half, { type: "text-end", id: "m", providerMetadata }, ...whole]);
  expect(shown.at(-1)).toEqual(["I think that we sh", "We should pay."]);
});
