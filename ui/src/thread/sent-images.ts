import { imageAddress } from "../api/threads";
import type { Json } from "../api/types";
import { isObject } from "../api/json";
import type { Item, StreamEvent } from "./stream";

const text = (value: Json | undefined): string => (typeof value === "string" ? value : "");
const list = (value: Json | undefined) => (Array.isArray(value) ? value.filter(isObject) : []);

/** Return the messages of a person that have images; the stream shows them nowhere else. */
export function withImages({ threadId, input }: StreamEvent, key: number): Item[] {
  return list(isObject(input) ? input.messages : undefined).flatMap(({ id, content, metadata }, index) => {
    const images = list(isObject(metadata) ? metadata.ringi_images : undefined)
      .map(({ number, name }) => ({ url: imageAddress(text(threadId), Number(number)), name: text(name) }));
    if (images.length === 0) return [];
    // Between two numbers of the stream.
    return { key: key + (index + 1) / 1000, at: null, kind: "message" as const, id: text(id), role: "user", text: text(content), open: false, images };
  });
}
