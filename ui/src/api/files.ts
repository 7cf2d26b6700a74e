import { basePath } from "../base/router";
import { ProblemError } from "./call";
import type { AttachedFile } from "./schema";

const path = (id: string) => `${basePath}/v1/requests/${encodeURIComponent(id)}/attachments`;

/** Return the download address of a file. */
export const fileAddress = (id: string, number: number) => `${path(id)}/${number}`;

/** Return the bytes of a file. */
export async function downloadAttachment(address: string): Promise<Uint8Array> {
  const reply = await fetch(address);
  if (!reply.ok) throw new ProblemError(reply.status, {});
  return new Uint8Array(await reply.arrayBuffer());
}

function encoded(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result).replace(/^[^,]*,?/, "")));
    reader.addEventListener("error", () => reject(new ProblemError(0, { detail: String(reader.error?.message) })));
    reader.readAsDataURL(file);
  });
}

function problemIn(status: number, text: string): ProblemError {
  try {
    return new ProblemError(status, JSON.parse(text) as ConstructorParameters<typeof ProblemError>[1]);
  } catch {
    return new ProblemError(status, {});
  }
}

/** Upload a file for a field of a request and report progress, which fetch cannot do. */
export async function uploadAttachment(
  id: string, field: string, file: File, onProgress: (percent: number) => void, signal: AbortSignal,
): Promise<AttachedFile> {
  const body = JSON.stringify({ field, name: file.name, data: await encoded(file) });
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open("POST", path(id));
    call.setRequestHeader("content-type", "application/json");
    call.setRequestHeader("accept-language", document.documentElement.lang || "en");
    call.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? Math.floor((loaded / total) * 100) : 0));
    call.addEventListener("load", () => {
      if (call.status === 201) resolve(JSON.parse(call.responseText) as AttachedFile);
      else reject(problemIn(call.status, call.responseText));
    });
    call.addEventListener("error", () => reject(new ProblemError(0, {})));
    call.addEventListener("abort", () => reject(new ProblemError(0, {})));
    signal.addEventListener("abort", () => call.abort());
    if (signal.aborted) reject(new ProblemError(0, {}));
    else call.send(body);
  });
}

/** Return the headers of a reply, for example `Retry-After`. */
function headersOf(call: XMLHttpRequest): Headers {
  const lines = call.getAllResponseHeaders().split("\r\n").filter((line) => line.includes(":"));
  return new Headers(lines.map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
}

/** Send a large request and report its upload progress, which fetch cannot do. */
export function uploadWithProgress(url: string, init: RequestInit, onProgress: (percent: number) => void, stopSignal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    const text = new TextEncoder();
    let read = 0;
    let body: ReadableStreamDefaultController<Uint8Array> | undefined;
    const enqueueText = () => {
      if (call.responseText.length > read) body?.enqueue(text.encode(call.responseText.slice(read)));
      read = call.responseText.length;
    };
    const fail = (error: unknown) => {
      reject(error);
      body?.error(error);
      body = undefined;
    };
    call.open("POST", url);
    // Browsers set their own user agent, and warn about any other.
    new Headers(init.headers).forEach((value, name) => name !== "user-agent" && call.setRequestHeader(name, value));
    call.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? Math.floor((loaded / total) * 100) : 0));
    call.addEventListener("readystatechange", () => {
      if (call.readyState !== XMLHttpRequest.HEADERS_RECEIVED || call.status === 0) return;
      const stream = new ReadableStream<Uint8Array>({
        start: (controller) => {
          body = controller;
        },
        cancel: () => {
          body = undefined;
          call.abort();
        },
      });
      resolve(new Response(stream, { status: call.status, headers: headersOf(call) }));
    });
    call.addEventListener("progress", enqueueText);
    call.addEventListener("load", () => {
      enqueueText();
      body?.close();
    });
    call.addEventListener("error", () => fail(new ProblemError(0, {})));
    call.addEventListener("abort", () => fail(stopSignal.aborted ? stopSignal.reason : init.signal?.reason));
    init.signal?.addEventListener("abort", () => call.abort());
    stopSignal.addEventListener("abort", () => call.abort());
    call.send(init.body as string);
  });
}
