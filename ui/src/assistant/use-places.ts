import { useEffect, useState } from "react";

/** After which message something stands that is no message: where it was when it came. */
export type Places = ReadonlyMap<string, string | undefined>;

/** So long the talk must rest before its newest message is the last of what there was to say. */
const rest = 3_000;

/** Let what stands beside the messages keep its place while they go on: `keys` that are new stay at the end until the talk rests. */
export function usePlaces(keys: string[], last: string | undefined, isResting: boolean): Places {
  const [places, setPlaces] = useState<Places>(new Map());
  const fresh = keys.filter((key) => !places.has(key)).join("\n");
  useEffect(() => {
    if (!fresh || !isResting) return undefined;
    const place = () => setPlaces((known) => new Map([...known, ...fresh.split("\n").map((key) => [key, last] as const)]));
    const timer = setTimeout(place, rest);
    return () => clearTimeout(timer);
  }, [fresh, last, isResting]);
  return new Map([...places, ...(fresh ? fresh.split("\n").map((key) => [key, undefined] as const) : [])]);
}
