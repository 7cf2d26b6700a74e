import type { Strings } from "../en";
import { inbox } from "./inbox";
import { request } from "./request";
import { shell } from "./shell";
import { thread } from "./thread";

export const zh: Strings = { ...shell, ...inbox, ...request, ...thread };
