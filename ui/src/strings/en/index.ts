import { inbox } from "./inbox";
import { request } from "./request";
import { shell } from "./shell";
import { thread } from "./thread";

export const en = { ...shell, ...inbox, ...request, ...thread };

export type Strings = typeof en;
