let least = Number.NEGATIVE_INFINITY;
let most = Number.POSITIVE_INFINITY;

/** The server caches its `Date` header, which has whole seconds, for up to a second. */
const dateAccuracy = 2_000;

/** Narrow the difference between the clocks by the `Date` header of a reply. */
export function noteServerTime(date: string | null, sentAt: number, receivedAt: number): void {
  const at = Date.parse(date ?? "");
  if (Number.isNaN(at)) return;
  const [low, high] = [at - receivedAt, at + dateAccuracy - sentAt];
  // Replies that contradict each other mean that a clock was set: only the last one counts.
  const isConsistent = low <= most && high >= least;
  least = isConsistent ? Math.max(least, low) : low;
  most = isConsistent ? Math.min(most, high) : high;
}

/** Return how many milliseconds the server's clock is ahead; 0 while the replies allow that the clocks agree. */
export const clockDifference = () => Math.min(Math.max(0, least), most);

/** Return the present time by the server's clock, in milliseconds. */
export const serverNow = () => Date.now() + clockDifference();

/** A timer of more than 31 bits of milliseconds would fire at once. */
const maxWait = 2 ** 31 - 1;

/** Return the milliseconds until the first of these ends by the server's clock; false if none has an end. */
export function untilNext(each: readonly ({ until?: string | null } | null)[]): number | false {
  const ends = each.flatMap((one) => (one?.until ? [Date.parse(one.until)] : []));
  if (ends.length === 0) return false;
  return Math.min(Math.max(Math.min(...ends) - Date.now() - clockDifference(), 1_000), maxWait);
}
