import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PdfWorkers } from "./pdf-pages";

class FakeWorker extends EventTarget {
  static all: FakeWorker[] = [];
  isEnded = false;

  constructor(readonly url: string) {
    super();
    FakeWorker.all.push(this);
  }

  says(data: unknown) {
    this.dispatchEvent(Object.assign(new Event("message"), { data }));
  }

  terminate() {
    this.isEnded = true;
  }
}

const forever = new Promise<never>(() => {});
const image = (dataLen: number) => ({ action: "obj", data: ["img_1", 1, "Image", { dataLen }] });

beforeEach(() => {
  FakeWorker.all = [];
  vi.stubGlobal("Worker", FakeWorker);
});

afterEach(() => {
  vi.useRealTimers();
});

function start() {
  const workers = new PdfWorkers("/pdf/");
  const [parser = new FakeWorker("")] = FakeWorker.all;
  return { workers, parser };
}

const areEnded = () => FakeWorker.all.map((worker) => worker.isEnded);

test("they are ready when both run", async () => {
  const { workers } = start();
  expect(FakeWorker.all.map(({ url }) => url)).toEqual(["/pdf/pdf.worker.min.mjs", "/pdf/pdf.renderer.min.mjs"]);
  for (const worker of FakeWorker.all) worker.says({});
  await workers.ready;
});

test("a worker that cannot be loaded is a problem of the file", async () => {
  const { workers, parser } = start();
  parser.dispatchEvent(new Event("error"));
  await expect(workers.ready).rejects.toMatchObject({ problem: "broken" });
});

test("work that takes too long ends both, and everything that waits for them", async () => {
  vi.useFakeTimers();
  const { workers } = start();
  const waiting = [workers.within(forever), workers.within(forever)].map((work) => expect(work).rejects.toMatchObject({ problem: "late" }));
  vi.advanceTimersByTime(30_000);
  await Promise.all(waiting);
  expect(areEnded()).toEqual([true, true]);
  await expect(workers.within(forever)).rejects.toMatchObject({ problem: "late" });
});

test("time in which nobody sees the page does not count", () => {
  vi.useFakeTimers();
  const { workers } = start();
  const hidden = vi.spyOn(document, "hidden", "get").mockReturnValue(true);
  workers.within(forever).catch(() => {});
  vi.advanceTimersByTime(60_000);
  hidden.mockRestore();
  vi.advanceTimersByTime(29_000);
  expect(areEnded()).toEqual([false, false]);
  vi.advanceTimersByTime(1_000);
  expect(areEnded()).toEqual([true, true]);
});

test("work in time changes nothing", async () => {
  vi.useFakeTimers();
  const { workers } = start();
  expect(await workers.within(Promise.resolve(3))).toBe(3);
  vi.advanceTimersByTime(60_000);
  expect(areEnded()).toEqual([false, false]);
});

test("images of one page that would fill the memory end both", async () => {
  const { workers, parser } = start();
  const drawn = expect(workers.within(forever)).rejects.toMatchObject({ problem: "large" });
  parser.says(image(300 * 1024 * 1024));
  workers.startPage();
  parser.says(image(300 * 1024 * 1024));
  expect(areEnded()).toEqual([false, false]);
  parser.says(image(200 * 1024 * 1024));
  await drawn;
  expect(areEnded()).toEqual([true, true]);
});

test("a failure in the stream of a page counts, and other messages do not", () => {
  const { workers, parser } = start();
  for (const message of [{ action: "ready" }, { action: "obj", data: ["img_1", 1, "Image", null] }, { stream: 4, chunk: {} }, { callback: 2, reason: {} }]) parser.says(message);
  expect(workers.errors).toBe(0);
  parser.says({ stream: 5, reason: { message: "Image exceeded maximum allowed size and was removed." } });
  expect(workers.errors).toBe(1);
});
