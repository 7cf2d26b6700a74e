import type { Pause } from "../api/types";
import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { actorName } from "../widgets/names";
import { clock } from "../widgets/time";

/** Which agents a pause stops, why, who paused them, since when and until when. */
export function PauseLine({ pause: { agent, reason, by, since, until } }: { pause: Pause }) {
  const strings = useStrings();
  const { pauses, language } = strings;
  return (
    <>
      <strong>{agent ? pauses.one(visible(agent)) : pauses.all}</strong>{reason && pauses.colon}{visible(reason)}{" "}
      <span className="quiet">{pauses.facts(actorName(by, strings), clock(since, language), until ? clock(until, language) : null)}</span>
    </>
  );
}
