import { zh as playbook } from "./playbook-texts";
import { zh as texts } from "./texts";

export const zh = { ...texts, ...playbook };
