import type { Request } from "../api/types";
import type { Strings } from "../strings";
import { visible } from "../widgets/visible";
import { translateGateText } from "./finish-gate";

/** Return whether the whole request was erased, and not only one person's part of it. */
export const isFullyErased = ({ erased }: Request) => Boolean(erased && erased.rule !== "person");

/** Return the title to show; the title of an erased request is not an agent's text. */
export const titleOf = (request: Request, strings: Strings) =>
  (isFullyErased(request) ? strings.erasedTitle : visible(translateGateText(request.title, request, strings)));
