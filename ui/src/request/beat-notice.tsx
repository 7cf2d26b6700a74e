import type { Decision } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { decideKeys } from "./decisions";

/** Ask for a second key where another kind of request follows many equal answers. */
export function BeatNotice({ decision }: { decision: Decision }) {
  const { stakes } = useRequestStrings();
  return <p className="beat" data-testid="beat">{stakes.anotherKind(decideKeys[decision])}</p>;
}
