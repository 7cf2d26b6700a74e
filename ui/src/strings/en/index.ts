import texts from "../../../../src/ringi/base/texts/en.json";
import type { Assistant } from "./assistant";
import type { Chat } from "./chat";
import type { Detail } from "./detail";
import { inbox } from "./inbox";
import type { Learning } from "./learning";
import type { Memory } from "./memory";
import type { Overview } from "./overview";
import { people } from "./people";
import { request } from "./request";
import { shell } from "./shell";
import { thread } from "./thread";

export const en = { ...shell, ...inbox, ...request, ...thread, ...people, texts };

/** The strings of one language. English loads the optional sections with their pages; other languages include them. */
export type Strings = typeof en & { detail?: Detail; chat?: Chat; memory?: Memory; assistant?: Assistant; learning?: Learning; overview?: Overview };
