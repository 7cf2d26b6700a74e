import { ja as playbook } from "./playbook-texts";
import { ja as texts } from "./texts";

export const ja = { ...texts, ...playbook };
