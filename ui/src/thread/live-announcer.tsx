import { useEffect, useState } from "react";
import { useStrings, type Strings } from "../strings";
import { reasonText } from "../strings/catalogue";
import { visible } from "../base/visible";
import type { Item } from "./stream";

/** Announce the newest item after this many milliseconds without a new one. */
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
      return `${strings.runFailed}: ${visible(reasonText(last.message, strings).slice(0, maxLength))}`;
    case "end":
      return last.cancelled ? strings.runCancelled : strings.runEnded;
    default:
      return "";
  }
}

/** Announce the newest item to screen readers, once and with a delay. */
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
