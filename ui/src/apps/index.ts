import type { Application } from "../request/applications";
import { assistant } from "./assistant";
import { learning } from "./learning";

/** The applications of this page; nothing else names them. */
export const applications: readonly Application[] = [assistant, learning];
