import { afterEach, expect, test, vi } from "vitest";
import { uploadWithProgress } from "./files";

/** A fake XMLHttpRequest that starts its reply as soon as it is sent. */
class FakeCall extends EventTarget {
  static readonly HEADERS_RECEIVED = 2;
  upload = new EventTarget();
  readyState = 0;
  status = 0;
  responseText = "";

  open() {}
  setRequestHeader() {}
  getResponseHeader = () => "application/problem+json";
  getAllResponseHeaders = () => "content-type: application/problem+json\r\nretry-after: 7\r\nx-place: a: b\r\n";

  send() {
    this.readyState = FakeCall.HEADERS_RECEIVED;
    this.status = 503;
    this.dispatchEvent(new Event("readystatechange"));
    this.responseText = "{}";
    this.dispatchEvent(new Event("load"));
  }
}

afterEach(() => vi.unstubAllGlobals());

test("a reply has its headers, so that whoever comes again knows when", async () => {
  vi.stubGlobal("XMLHttpRequest", FakeCall);
  const reply = await uploadWithProgress("/v1/chat", { body: "{}" }, () => {}, new AbortController().signal);
  expect(reply.status).toBe(503);
  expect(Object.fromEntries(reply.headers)).toEqual({ "content-type": "application/problem+json", "retry-after": "7", "x-place": "a: b" });
  expect(await reply.text()).toBe("{}");
});
