import { expect, test } from "vitest";
import type { ChatMessage } from "./message-parts";
import { keepLonger } from "./use-conversation";

function message(...parts: (string | { id: string })[]): ChatMessage {
  return {
    id: "r1", role: "assistant",
    parts: parts.map((part, index) => (
      typeof part === "string"
        ? { type: "text", text: part, state: index === parts.length - 1 ? "streaming" : "done" }
        : { type: "data-ringi-request", id: part.id, data: {} }
    )),
  };
}

const question = { id: "q1" };
const visibleMessage = message("I think that we sh", question);

test.each([[[]], [[""]], [["I think"]], [["I think that we sh"]]])("a message that is read again stays until it has caught up: %j", (parts) => {
  expect(keepLonger(visibleMessage, message(...parts))).toBe(visibleMessage);
});

test("what has caught up is shown", () => {
  const now = message("I think that we should", question);
  expect(keepLonger(visibleMessage, now)).toBe(now);
});

// The fragment of a worker that died is left out when the message is read again.
test.each([[["We"]], [["I think not"]], [["I think", question]], [[question]]])("a message that goes another way is shown at once: %j", (parts) => {
  const now = message(...parts);
  expect(keepLonger(visibleMessage, now)).toBe(now);
});
