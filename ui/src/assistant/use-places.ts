import { useState } from "react";

/** After which message something stands that is no message: where it was when it came. */
export type Places = ReadonlyMap<string, string | undefined>;

/** Let what stands beside the messages keep its place while they go on; `keys` that are new come after the last message. */
export function usePlaces(keys: string[], last: string | undefined, isRead: boolean): Places {
  const [places, setPlaces] = useState<Places>(new Map());
  const fresh = isRead ? keys.filter((key) => !places.has(key)) : [];
  if (fresh.length > 0) setPlaces(new Map([...places, ...fresh.map((key) => [key, last] as const)]));
  return places;
}
