import type { Request } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../widgets/visible";
import { atTheGate } from "./gate";

/** Whether nothing of what was asked is left; of a person's part alone the rest still stands. */
export const isBare = ({ erased }: Request) => Boolean(erased && erased.rule !== "person");

/** The title as people read it: what stands in place of an erased one is no agent's text. */
export const titleOf = (request: Request, strings: Strings) =>
  (isBare(request) ? strings.erasedTitle : visible(atTheGate(request.title, request, strings)));
