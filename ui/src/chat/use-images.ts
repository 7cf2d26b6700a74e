import type { FileUIPart } from "ai";
import { useState } from "react";
import { ruleText } from "../strings/catalogue";
import { useChatStrings } from "../strings/chat";

/** Media types that the server accepts. The server checks the bytes; the page checks the type from the browser. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const maxImages = 4;
const maxBytes = 5 * 1024 * 1024;

function read(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve({ type: "file", mediaType: file.type, filename: file.name || "image", url: String(reader.result) }));
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
    reader.readAsDataURL(file);
  });
}

export interface ImageSelection {
  images: FileUIPart[];
  /** The reason if the newest file was refused. */
  problem: string;
  add: (files: Iterable<File>) => Promise<void>;
  remove: (image: FileUIPart) => void;
  /** Replace all images. */
  replace: (images: FileUIPart[]) => void;
}

/** The images of the message that is being written; they exist only in this tab. */
export function useImages(takesImages: boolean): ImageSelection {
  const strings = useChatStrings();
  const [images, setImages] = useState<FileUIPart[]>([]);
  const [problem, setProblem] = useState("");
  const refusalOf = ({ type, size }: File): string => {
    if (!takesImages) return strings.texts.fields.images_not_accepted;
    if (!imageTypes.includes(type)) return strings.texts.fields.image_type;
    return size > 0 && size <= maxBytes ? "" : ruleText("image_size", { max_bytes: maxBytes }, strings);
  };
  const add = async (files: Iterable<File>) => {
    const candidates = [...files];
    const refusal = candidates.map(refusalOf).find(Boolean);
    const accepted = candidates.filter((file) => !refusalOf(file));
    setProblem(refusal ?? "");
    const loaded = await Promise.all(accepted.map(read)).catch(() => []);
    if (loaded.length < accepted.length) setProblem(strings.texts.fields.image_missing);
    if (images.length + loaded.length > maxImages) setProblem(ruleText("too_many_images", { max: maxImages }, strings));
    setImages((now) => [...now, ...loaded].slice(0, maxImages));
  };
  const replace = (replacements: FileUIPart[]) => {
    setProblem("");
    setImages(replacements);
  };
  return { images, problem, add, remove: (image) => replace(images.filter((one) => one !== image)), replace };
}
