import texts from "../../../../src/ringi/base/texts/ja.json";
import type { Strings } from "../en";
import { assistant } from "./assistant";
import { chat } from "./chat";
import { detail } from "./detail";
import { inbox } from "./inbox";
import { learning } from "./learning";
import { memory } from "./memory";
import { overview } from "./overview";
import { people } from "./people";
import { request } from "./request";
import { shell } from "./shell";
import { thread } from "./thread";

export const ja: Strings = { ...shell, ...inbox, ...request, ...thread, ...people, texts, detail, chat, memory, assistant, learning, overview };
