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
