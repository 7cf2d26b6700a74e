import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FakeChat } from "../testing/fake-chat";
import { show } from "../testing/fake-server";
import ChatPage from "./chat-page";

/** A fake XMLHttpRequest that a test controls. */
class FakeCall extends EventTarget {
  static readonly HEADERS_RECEIVED = 2;
  static last: FakeCall | undefined;
  upload = new EventTarget();
  readyState = 0;
  status = 0;
  responseText = "";
  sent = "";

  constructor() {
    super();
    FakeCall.last = this;
  }

  open() {}
  setRequestHeader() {}
  getAllResponseHeaders = () => "content-type: text/event-stream\r\n";

  send(body: string) {
    this.sent = body;
  }

  abort() {
    this.dispatchEvent(new Event("abort"));
  }

  answer(status: number, text: string) {
    this.readyState = FakeCall.HEADERS_RECEIVED;
    this.status = status;
    this.dispatchEvent(new Event("readystatechange"));
    this.responseText = text;
    this.dispatchEvent(new Event("progress"));
    this.dispatchEvent(new Event("load"));
  }
}

const photo = (name = "a.png", type = "image/png", content = "pixels") => new File([content], name, { type });
const url = `data:image/png;base64,${btoa("pixels")}`;
const box = () => screen.findByTestId<HTMLTextAreaElement>("message-box");
const chosen = () => within(screen.getByTestId("chosen-images")).getAllByRole("img").map((image) => image.getAttribute("alt"));

beforeEach(() => {
  window.history.replaceState(null, "", "/chat");
  FakeCall.last = undefined;
  vi.stubGlobal("XMLHttpRequest", FakeCall);
});
afterEach(() => vi.unstubAllGlobals());

async function open(images = true) {
  const server = new FakeChat();
  const agent = { name: "chat", title: "", description: "", input_schema: { properties: { messages: {} } }, images };
  server.extraReply = (route) => (route === "GET /v1/agents" ? [200, { items: [agent], next: null }] : undefined);
  show(<ChatPage id={undefined} />);
  await box();
  return server;
}

const choose = async (...files: File[]) => userEvent.setup({ applyAccept: false }).upload(await screen.findByTestId("image-input"), files);

test("images are chosen, shown, left out, and sent with the words", async () => {
  await open();
  await choose(photo("a\u202Eb.png"), photo("c.png"));
  await waitFor(() => expect(chosen()).toEqual(["a\\u{202e}b.png", "c.png"]));
  await userEvent.click(screen.getByRole("button", { name: "Remove c.png" }));
  expect(chosen()).toEqual(["a\\u{202e}b.png"]);
  expect(document.activeElement).toBe(await box());
  await userEvent.type(await box(), "look{Enter}");
  await waitFor(() => expect(FakeCall.last?.sent).toBeTruthy());
  const { messages } = JSON.parse(FakeCall.last?.sent ?? "") as { messages: { parts: unknown }[] };
  expect(messages.map(({ parts }) => parts)).toEqual([[
    { type: "text", text: "look" }, { type: "file", mediaType: "image/png", filename: "a\u202Eb.png", url },
  ]]);
  expect(screen.queryByTestId("chosen-images")).toBeNull();
  expect(within(screen.getByTestId("chat-message")).getByRole("img").getAttribute("src")).toBe(url);
});

test("an image alone is a message, and says how much of it has left", async () => {
  await open();
  await choose(photo());
  await waitFor(() => expect(chosen()).toEqual(["a.png"]));
  await userEvent.type(await box(), "{Enter}");
  await waitFor(() => expect(FakeCall.last?.sent).toBeTruthy());
  fireEvent(FakeCall.last?.upload as unknown as Window, new ProgressEvent("progress", { loaded: 1, total: 4 }));
  await waitFor(() => expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("25"));
  expect(screen.getByTestId("composer-status").textContent).toBe("Sending the images…");
  FakeCall.last?.answer(200, `data: ${JSON.stringify({ type: "start", messageId: "r1" })}\n\ndata: ${JSON.stringify({ type: "finish" })}\n\n`);
  await waitFor(() => expect(screen.queryByRole("progressbar")).toBeNull());
});

test("what is stopped on its way, or refused, can be changed with its images", async () => {
  await open();
  await choose(photo());
  await userEvent.type(await box(), "look{Enter}");
  await waitFor(() => expect(FakeCall.last?.sent).toBeTruthy());
  await userEvent.click(await screen.findByTestId("stop"));
  await userEvent.click(await screen.findByTestId("withdraw-message"));
  expect((await box()).value).toBe("look");
  expect(chosen()).toEqual(["a.png"]);
  await userEvent.type(await box(), "{Enter}");
  FakeCall.last?.answer(422, JSON.stringify({ detail: "messages: 'a.png' is text/plain by its bytes", errors: [] }));
  expect(await screen.findByText(/is text\/plain by its bytes/)).toBeTruthy();
});

test.each([
  [[photo("a.svg", "image/svg+xml")], "Only PNG, JPEG, GIF and WebP images are accepted."],
  [[photo("a.png", "image/png", "")], "not empty and at most 5 MB"],
  [Array.from({ length: 5 }, (_, n) => photo(`${n}.png`, "image/png", `${n}`)), "A message can have up to 4 images."],
])("what is not taken says why", async (files, why) => {
  await open();
  await choose(...files);
  await waitFor(() => expect(screen.getByTestId("image-problem").textContent).toContain(why));
});

test("an image is pasted or dropped; an agent that takes none says so and the words stay", async () => {
  await open(false);
  expect(screen.queryByTestId("attach-images")).toBeNull();
  await userEvent.type(await box(), "words");
  fireEvent.paste(await box(), { clipboardData: { files: [photo()], getData: () => "" } });
  expect((await screen.findByTestId("image-problem")).textContent).toBe("This agent doesn't accept images.");
  expect((await box()).value).toBe("words");
});

test.each(["paste", "drop"] as const)("an image comes by %s", async (how) => {
  await open();
  const data = { files: [photo()], types: ["Files"], getData: () => "" };
  if (how === "paste") fireEvent.paste(await box(), { clipboardData: data });
  else fireEvent.drop(await box(), { dataTransfer: data });
  await waitFor(() => expect(chosen()).toEqual(["a.png"]));
});
