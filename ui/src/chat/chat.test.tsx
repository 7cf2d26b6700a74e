import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test, vi } from "vitest";
import { cacheRequest } from "../api/requests";
import { FakeChat } from "../testing/fake-chat";
import { aRequest, completedRequest, show } from "../testing/fake-server";
import ChatPage from "./chat-page";

const box = () => screen.findByTestId<HTMLTextAreaElement>("message-box");
const messageTexts = () => screen.queryAllByTestId("chat-message").map((message) => message.textContent.trim());
const text = (delta: string) => ({ type: "text-delta", id: "1", delta }) as const;

beforeEach(() => window.history.replaceState(null, "", "/chat"));

async function write(message: string) {
  await userEvent.type(await box(), `${message}{Enter}`);
}

async function startedAnswer(...texts: string[]) {
  const server = new FakeChat();
  const client = show(<ChatPage id={undefined} />);
  await write("hello");
  await waitFor(() => expect(server.listeners).toBe(1));
  server.say({ type: "text-start", id: "1" }, ...texts.map(text));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", texts.join("").trim()]));
  return { server, client };
}

test("what the agent says grows word by word, and the chat has an address from its first message", async () => {
  const { server } = await startedAnswer("Good ");
  expect(window.location.pathname).toMatch(/^\/chat\/chat-\w{10}$/);
  server.say(text("morning"));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "Good morning"]));
  server.end();
  await screen.findByTestId("send");
  expect(messageTexts()).toEqual(["hello", "Good morning"]);
});

test("of all that was said only the newest message is sent", async () => {
  const { server } = await startedAnswer("Good morning");
  server.end();
  await screen.findByTestId("send");
  await write("again");
  await waitFor(() => expect(server.run).toBe(2));
  const { body } = server.sent.at(-1) ?? {};
  expect(body).toMatchObject({ agent: "chat", trigger: "submit-message", messages: [{ role: "user", parts: [{ type: "text", text: "again" }] }] });
  expect(body).toHaveProperty("messages.length", 1);
});

test("a question stands in the message as its card, and after the answer the same message goes on", async () => {
  const { server, client } = await startedAnswer("Let me ask. ");
  const request = aRequest({ id: "q1", title: "Refund order 1182?" });
  server.requests.set("q1", request);
  server.status = "interrupted";
  server.say({ type: "text-end", id: "1" }, { type: "data-ringi-request", id: "q1", data: { id: "q1" } });
  const card = await screen.findByTestId("request-detail");
  expect(within(card).getByTestId("decide-approve")).toBeTruthy();
  expect(screen.getByTestId("composer-status").textContent).toContain("The run resumes");

  const answered = completedRequest(request);
  server.requests.set("q1", answered);
  // The feed reports an answer that somebody gave in the inbox.
  cacheRequest(client, answered);
  server.status = "running";
  server.say({ type: "text-start", id: "2" }, { type: "text-delta", id: "2", delta: "Done." });
  await waitFor(() => expect(screen.getByText("Done.")).toBeTruthy());
  const messages = screen.getAllByTestId("chat-message");
  expect(messages).toHaveLength(2);
  expect(messages[1]?.textContent).toMatch(/Let me ask\..*Refund order 1182\?.*Done\./s);
});

test("a stream that was cut off is taken up again: nothing is missed, repeated or blank meanwhile", async () => {
  const { server } = await startedAnswer("one ", "two ");
  const seen = new Set<string>();
  const observer = new MutationObserver(() => seen.add(messageTexts()[1] ?? "gone"));
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
  server.cut();
  server.say(text("three "));
  await waitFor(() => expect(server.listeners).toBe(1));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one two three"]));
  observer.disconnect();
  expect([...seen].filter((seenText) => !seenText.startsWith("one two"))).toEqual([]);
});

test("while streams are held back the chat is read every five seconds, and streams again afterwards", async () => {
  const intervals = vi.spyOn(globalThis, "setInterval");
  const { server, client } = await startedAnswer("one ");
  intervals.mockClear();
  act(() => void client.setQueryData(["connection"], "held"));
  await waitFor(() => expect(server.listeners).toBe(0));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one"]));
  const readOn = () => act(() => intervals.mock.calls.filter(([, pause]) => pause === 5_000).forEach(([run]) => (run as () => void)()));
  for (const word of ["two ", "three "]) {
    server.say(text(word));
    readOn();
    await waitFor(() => expect(messageTexts()[1]).toContain(word.trim())); // eslint-disable-line no-await-in-loop
  }
  expect(server.listeners).toBe(0);
  act(() => void client.setQueryData(["connection"], "live"));
  await waitFor(() => expect(server.listeners).toBe(1));
  server.say(text("four"));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one two three four"]));
  intervals.mockRestore();
});

test("while the server is away the page says so, and goes on by itself when it is back", async () => {
  const { server } = await startedAnswer("one ");
  server.isOffline = true;
  server.cut();
  await screen.findByTestId("stream-lost");
  server.say(text("two"));
  server.isOffline = false;
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one two"]));
  await waitFor(() => expect(screen.queryByTestId("stream-lost")).toBeNull());
});

test("a message that did not arrive says so, and is sent again or changed", async () => {
  const server = new FakeChat();
  show(<ChatPage id={undefined} />);
  server.refusal = [503, { title: "busy" }];
  await write("hello");
  expect((await screen.findByTestId("error")).textContent).toContain("was not delivered");
  await userEvent.click(screen.getByTestId("withdraw-message"));
  expect((await box()).value).toBe("hello");
  await waitFor(() => expect(messageTexts()).toEqual([]));

  server.refusal = [503, { title: "busy" }];
  await userEvent.type(await box(), "!{Enter}");
  await userEvent.click(await screen.findByTestId("send-again"));
  await waitFor(() => expect(server.run).toBe(1));
  server.say({ type: "text-start", id: "1" }, text("Hi"));
  await waitFor(() => expect(messageTexts()).toEqual(["hello!", "Hi"]));
});

test("stopping is asked of the server, and what was said stays", async () => {
  const { server } = await startedAnswer("one ");
  await userEvent.click(await screen.findByTestId("stop"));
  await waitFor(() => expect(server.sent.at(-1)?.path).toMatch(/^\/v1\/threads\/chat-\w+\/cancel$/));
  await screen.findByTestId("send");
});

test("a chat that is opened again shows what was said, and follows what is being said", async () => {
  const server = new FakeChat();
  server.begin({ id: "u1", role: "user", parts: [{ type: "text", text: "hello" }] });
  server.say({ type: "text-start", id: "1" }, text("one "));
  show(<ChatPage id="t1" />);
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one"]));
  server.say(text("two"));
  await waitFor(() => expect(messageTexts()).toEqual(["hello", "one two"]));
});

test("of a long chat the newest part is shown, and what was said before when it is asked for", async () => {
  const server = new FakeChat();
  server.size = 2;
  for (const word of ["one", "two", "three", "four", "five"]) {
    server.begin({ id: `u-${word}`, role: "user", parts: [{ type: "text", text: word }] });
    server.end();
  }
  show(<ChatPage id="t1" />);
  await waitFor(() => expect(messageTexts()).toEqual(["four", "five"]));
  await userEvent.click(screen.getByTestId("show-earlier"));
  await waitFor(() => expect(messageTexts()).toEqual(["two", "three", "four", "five"]));
  // A refetch after a new message keeps the earlier messages.
  await write("six");
  await waitFor(() => expect(server.run).toBe(6));
  server.end();
  await screen.findByTestId("send");
  expect(messageTexts()).toEqual(["two", "three", "four", "five", "six"]);
  await userEvent.click(screen.getByTestId("show-earlier"));
  await waitFor(() => expect(messageTexts()).toEqual(["one", "two", "three", "four", "five", "six"]));
  expect(screen.queryByTestId("show-earlier")).toBeNull();
});

test("what was said before does not come beside a part of the chat that begins elsewhere by now", async () => {
  const server = new FakeChat();
  server.size = 2;
  const speak = (...texts: string[]) => {
    for (const word of texts) {
      server.begin({ id: `u-${word}`, role: "user", parts: [{ type: "text", text: word }] });
      server.end();
    }
  };
  speak("one", "two", "three", "four");
  const answers = fetch;
  let letGo = () => undefined as void;
  const gate = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let replies = 0;
  vi.stubGlobal("fetch", async (path: string, init?: RequestInit) => {
    const reply = await answers(path, init);
    if (path.includes("cursor=") && replies === 0) await gate;
    replies += Number(path.includes("cursor="));
    return reply;
  });
  show(<ChatPage id="t1" />);
  await waitFor(() => expect(messageTexts()).toEqual(["three", "four"]));
  await userEvent.click(screen.getByTestId("show-earlier"));
  speak("five", "six", "seven");
  document.dispatchEvent(new Event("visibilitychange"));
  await waitFor(() => expect(messageTexts()).toEqual(["six", "seven"]));
  letGo();
  await waitFor(() => expect(replies).toBe(1));
  await waitFor(() => expect(screen.getByTestId("show-earlier").className).not.toContain("loading"));
  expect(messageTexts()).toEqual(["six", "seven"]);
  await userEvent.click(screen.getByTestId("show-earlier"));
  await waitFor(() => expect(messageTexts()).toEqual(["four", "five", "six", "seven"]));
});

test("where several agents take messages one is chosen, and written to", async () => {
  const server = new FakeChat(["chat", "critic"]);
  show(<ChatPage id={undefined} />);
  await userEvent.click(within(await screen.findByTestId("chat-agent")).getByRole("combobox"));
  await userEvent.click(await screen.findByTitle("critic"));
  await write("hello");
  await waitFor(() => expect(server.sent.at(-1)?.body).toMatchObject({ agent: "critic" }));
});

test("what is typed survives a reload", async () => {
  const server = new FakeChat();
  const first = show(<ChatPage id={undefined} />);
  await userEvent.type(await box(), "half a thou");
  first.clear();
  document.body.innerHTML = "";
  show(<ChatPage id={undefined} />);
  expect((await box()).value).toBe("half a thou");
  expect(server.sent).toEqual([]);
});
