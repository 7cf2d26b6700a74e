import { useEffect, useState } from "react";

/** The message after which each card stands; undefined for the end of the chat. */
type InsertPositions = ReadonlyMap<string, string | undefined>;

/** Milliseconds without change after which the newest message counts as complete. */
const rest = 3_000;

/** Keep the position of each card while messages are added. New `keys` stay at the end until the chat is idle. */
export function useInsertPositions(keys: string[], last: string | undefined, isResting: boolean): InsertPositions {
  const [positions, setPositions] = useState<InsertPositions>(new Map());
  const fresh = keys.filter((key) => !positions.has(key)).join("\n");
  useEffect(() => {
    if (!fresh || !isResting) return undefined;
    const place = () => setPositions((current) => new Map([...current, ...fresh.split("\n").map((key) => [key, last] as const)]));
    const timer = setTimeout(place, rest);
    return () => clearTimeout(timer);
  }, [fresh, last, isResting]);
  return new Map([...positions, ...(fresh ? fresh.split("\n").map((key) => [key, undefined] as const) : [])]);
}
