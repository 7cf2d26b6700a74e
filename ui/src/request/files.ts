import { createContext } from "react";
import type { Json } from "../api/types";
import type { AttachedFile } from "../api/schema";
import { isObject } from "./schema-field";
import type { RequestStrings } from "./strings";

/** The id of the request whose form is filled in; a form without a request takes no files. */
export const RequestIdContext = createContext<string | null>(null);

export function isFile(value: Json | undefined): value is AttachedFile & { [key: string]: Json } {
  return isObject(value) && typeof value.sha256 === "string" && typeof value.number === "number"
    && typeof value.name === "string" && typeof value.size === "number" && typeof value.media_type === "string";
}

/** The value of a field while its file is uploading; it cannot be sent. */
export const uploadInProgress = (name: string) => ({ uploading: name });
export const isUploading = (value: Json | undefined) => isObject(value) && "uploading" in value;

export function formatBytes(bytes: number, language: string): string {
  const [unit, size] = bytes < 1024 ? ["byte", bytes] as const
    : bytes < 1024 * 1024 ? ["kilobyte", bytes / 1024] as const : ["megabyte", bytes / 1024 / 1024] as const;
  return new Intl.NumberFormat(language || "en", { style: "unit", unit, unitDisplay: unit === "byte" ? "long" : "short", maximumFractionDigits: 1 }).format(size);
}

export const formatSize = (bytes: number, { language }: RequestStrings) => formatBytes(bytes, language);
