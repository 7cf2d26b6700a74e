import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test, vi } from "vitest";
import type { FormField, Request } from "../api/types";
import { aRequest, completedRequest, serve, show } from "../testing/fake-server";
import { RequestDetail } from "./request-detail";

const receipt: FormField = { name: "receipt", type: "attachment", label: "Receipt", media_types: ["image/*"], max_size: 2048 };
const file = { number: 1, name: "a\u202Ebc.png", size: 1500, media_type: "image/png", sha256: "0".repeat(64) };

/** A fake XMLHttpRequest for one file at a time. */
class FakeUpload extends EventTarget {
  static last: FakeUpload;
  upload = new EventTarget();
  status = 0;
  responseText = "";
  sent = "";
  address = "";

  constructor() {
    super();
    FakeUpload.last = this;
  }

  open(_method: string, address: string) {
    this.address = address;
  }

  setRequestHeader() {}

  send(body: string) {
    this.sent = body;
  }

  abort() {
    this.dispatchEvent(new Event("abort"));
  }

  answer(status: number, body: unknown) {
    this.status = status;
    this.responseText = JSON.stringify(body);
    this.dispatchEvent(new Event("load"));
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
  window.localStorage.clear();
});

function open(request: Request) {
  vi.stubGlobal("XMLHttpRequest", FakeUpload);
  const sent = serve((_path, { method }) => [200, method === "GET" ? request : completedRequest(request)]);
  show(<RequestDetail id="r1" />);
  return { sent, user: userEvent.setup() };
}

const choose = async (content: string, name = "a.png") => {
  const input = await screen.findByTestId("file-input", {}, { timeout: 5_000 });
  await userEvent.setup({ applyAccept: false }).upload(input, new File([content], name));
};

test("a file is sent at once, and the answer says what the server said of it", async () => {
  const { sent, user } = open(aRequest({ kind: "form", form: { fields: [receipt] } }));
  await choose("pixels");
  await waitFor(() => expect(FakeUpload.last.sent).not.toBe(""));
  expect(FakeUpload.last.address).toBe("/v1/requests/r1/attachments");
  expect(JSON.parse(FakeUpload.last.sent)).toEqual({ field: "receipt", name: "a.png", data: btoa("pixels") });
  await user.click(screen.getByTestId("decide-approve"));
  expect(sent).toEqual([]);
  FakeUpload.last.answer(201, file);
  expect(await screen.findByRole("link", { name: "a\\u{202e}bc.png" })).toHaveProperty("href", "http://localhost:3000/v1/requests/r1/attachments/1");
  await user.click(screen.getByTestId("decide-approve"));
  await waitFor(() => expect(sent).toHaveLength(1));
  expect(sent[0]?.body).toMatchObject({ data: { receipt: file } });
});

test.each([
  [422, { errors: [{ field: "receipt", message: "is text/plain by its content: send image/*", code: "file_type", params: {} }] }, "This kind of file is not accepted here."],
  [413, { code: "too_large", detail: "the body is over 9 bytes" }, "This file is too large."],
  [409, { code: "final" }, "Someone else answered first. Your answer was not sent"],
  [404, { code: "not_found" }, "You can no longer decide this"],
])("a refusal (%s) says why, and the field is free again", async (status, body, words) => {
  open(aRequest({ kind: "form", form: { fields: [receipt] } }));
  await choose("pixels");
  await waitFor(() => expect(FakeUpload.last.sent).not.toBe(""));
  FakeUpload.last.answer(status, body);
  expect(await screen.findByText(words)).toBeTruthy();
  expect(screen.getByTestId("choose-file").textContent).toBe("Choose a file");
});

test("what is too large is not sent at all", async () => {
  open(aRequest({ kind: "form", form: { fields: [receipt] } }));
  await choose("x".repeat(2049));
  expect((await within(await screen.findByTestId("field-receipt")).findByRole("alert")).textContent).toContain("not over 2 kB");
});

test("an attached image stands in the record, as an image of this server and nothing else", async () => {
  const request = aRequest({ kind: "form", form: { fields: [receipt, { ...receipt, name: "other" }] } });
  const done = completedRequest(request);
  const data = { receipt: file, other: { ...file, number: 2, media_type: "text/plain" } };
  open({ ...done, response: done.response && { ...done.response, data } });
  const record = within(await screen.findByTestId("record"));
  const image = await record.findByRole("img", { name: "a\\u{202e}bc.png" });
  expect(image.getAttribute("src")).toBe("/v1/requests/r1/attachments/1");
  expect(await record.findAllByRole("link")).toHaveLength(2);
  expect(record.getAllByRole("img")).toHaveLength(1);
});

test("an attached PDF is shown beside its download", async () => {
  const request = aRequest({ kind: "form", form: { fields: [receipt] } });
  const done = completedRequest(request);
  open({ ...done, response: done.response && { ...done.response, data: { receipt: { ...file, name: "taxi.pdf", media_type: "application/pdf" } } } });
  const record = within(await screen.findByTestId("record"));
  expect(await record.findByTestId("pdf-pages")).toBeTruthy();
  expect(record.getByRole("link", { name: "taxi.pdf" })).toBeTruthy();
});
