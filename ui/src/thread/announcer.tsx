import { useEffect, useState } from "react";
import { useStrings, type Strings } from "../strings";
import { visible } from "../widgets/visible";
import type { Item } from "./stream";

/** After so long without anything new, what came last is worth saying. */
const quiet = 400;
const longest = 300;

function told(items: Item[], strings: Strings): string {
  const last = items.findLast((item) => !("open" in item && item.open) && item.kind !== "custom" && item.kind !== "run");
  switch (last?.kind) {
    case "message":
      return visible(last.text.slice(0, longest));
    case "tool":
      return `${strings.tool} ${visible(last.name)}`;
    case "pause":
      return strings.threadStatuses.interrupted;
    case "error":
      return `${strings.runFailed}: ${visible(last.message.slice(0, longest))}`;
    case "end":
      return last.cancelled ? strings.runCancelled : strings.runEnded;
    default:
      return "";
  }
}

/** Says to a screen reader what came last, once and in its own time: the column itself changes with every word. */
export function Announcer({ items }: { items: Item[] }) {
  const strings = useStrings();
  const [said, say] = useState("");
  const now = told(items, strings);
  useEffect(() => {
    const timer = setTimeout(() => say(now), quiet);
    return () => clearTimeout(timer);
  }, [now]);
  return <output className="visually-hidden" data-testid="announcer">{said}</output>;
}
