import { useEffect, useState } from "react";
import { useStrings, type Strings } from "../strings";
import { visible } from "../widgets/visible";
import type { Item } from "./stream";

/** After so long without anything new, what came last is worth saying. */
const debounceTime = 400;
const maxLength = 300;

function announcementFor(items: Item[], strings: Strings): string {
  const last = items.findLast((item) => !("open" in item && item.open) && item.kind !== "custom" && item.kind !== "run");
  switch (last?.kind) {
    case "message":
      return visible(last.text.slice(0, maxLength));
    case "tool":
      return `${strings.tool} ${visible(last.name)}`;
    case "pause":
      return strings.threadStatuses.interrupted;
    case "error":
      return `${strings.runFailed}: ${visible(last.message.slice(0, maxLength))}`;
    case "end":
      return last.cancelled ? strings.runCancelled : strings.runEnded;
    default:
      return "";
  }
}

/** Says to a screen reader what came last, once and in its own time: the column itself changes with every word. */
export function LiveAnnouncer({ items }: { items: Item[] }) {
  const strings = useStrings();
  const [announcement, setAnnouncement] = useState("");
  const latest = announcementFor(items, strings);
  useEffect(() => {
    const timer = setTimeout(() => setAnnouncement(latest), debounceTime);
    return () => clearTimeout(timer);
  }, [latest]);
  return <output className="visually-hidden" data-testid="announcer">{announcement}</output>;
}
