import type { FileUIPart } from "ai";
import { useState } from "react";
import { formatBytes } from "../request/files";
import { useChatWords } from "./words";

/** What the server takes; it looks at the bytes, this page at what the browser says of them. */
export const imageTypes = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const most = 4;
const largest = 5 * 1024 * 1024;

function read(file: File): Promise<FileUIPart> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve({ type: "file", mediaType: file.type, filename: file.name || "image", url: String(reader.result) }));
    reader.addEventListener("error", () => reject(reader.error ?? new Error(file.name)));
    reader.readAsDataURL(file);
  });
}

export interface ChosenImages {
  images: FileUIPart[];
  /** Why the newest file was not taken. */
  problem: string;
  add: (files: Iterable<File>) => Promise<void>;
  remove: (image: FileUIPart) => void;
  /** Put others in their place. */
  replace: (images: FileUIPart[]) => void;
}

/** The images that go with the message that is being written; they are only in this tab. */
export function useImages(takesImages: boolean): ChosenImages {
  const words = useChatWords();
  const [images, setImages] = useState<FileUIPart[]>([]);
  const [problem, setProblem] = useState("");
  const why = ({ type, size }: File): string => {
    if (!takesImages) return words.takesNoImages;
    if (!imageTypes.includes(type)) return words.noImage;
    return size > 0 && size <= largest ? "" : words.imageSize(formatBytes(largest, words.language));
  };
  const add = async (files: Iterable<File>) => {
    const given = [...files];
    const refused = given.map(why).find(Boolean);
    const fit = given.filter((file) => !why(file));
    setProblem(refused ?? "");
    const found = await Promise.all(fit.map(read)).catch(() => []);
    if (found.length < fit.length) setProblem(words.imageLost);
    if (images.length + found.length > most) setProblem(words.tooManyImages(most));
    setImages((now) => [...now, ...found].slice(0, most));
  };
  const replace = (others: FileUIPart[]) => {
    setProblem("");
    setImages(others);
  };
  return { images, problem, add, remove: (image) => replace(images.filter((one) => one !== image)), replace };
}
