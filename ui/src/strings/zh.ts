import texts from "../../../src/ringi/base/texts/zh.json";
import type { Strings } from ".";
import { zh as chat } from "./chat";
import { zh as detail } from "./detail";
import { zh as history } from "./history";
import { zh as inbox } from "./inbox";
import { zh as memory } from "./memory";
import { zh as operations } from "./operations";
import { zh as overview } from "./overview";
import { zh as people } from "./people";
import { zh as request } from "./request";
import { zh as shell } from "./shell";
import { zh as thread } from "./thread";

export const zh: Strings = {
  ...shell, ...inbox, ...request, ...thread, ...people, texts,
  parts: { detail: { ...detail, ...history }, chat, memory, overview, operations },
};
