import { ProblemError } from "./call";

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
