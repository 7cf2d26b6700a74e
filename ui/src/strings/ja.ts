import texts from "../../../src/ringi/base/texts/ja.json";
import type { Strings } from ".";
import { ja as chat } from "./chat";
import { ja as detail } from "./detail";
import { ja as history } from "./history";
import { ja as inbox } from "./inbox";
import { ja as memory } from "./memory";
import { ja as operations } from "./operations";
import { ja as overview } from "./overview";
import { ja as people } from "./people";
import { ja as request } from "./request";
import { ja as shell } from "./shell";
import { ja as thread } from "./thread";

export const ja: Strings = {
  ...shell, ...inbox, ...request, ...thread, ...people, texts,
  parts: { detail: { ...detail, ...history }, chat, memory, overview, operations },
};
