/** A lock that one tab of this browser holds at a time. */
interface TabLock {
  /** Called when the lock was acquired from another tab. */
  onAcquired: () => void;
  /** Called when another tab holds the lock. */
  onWaiting: () => void;
}

/** Acquire the lock, at once or when the other tab releases it; return the function that releases it. */
export function acquireTabLock(name: string, { onAcquired, onWaiting }: TabLock): () => void {
  const controller = new AbortController();
  const { signal } = controller;
  const untilReleased = () => new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
    if (signal.aborted) resolve();
  });
  const queue = () => navigator.locks.request(name, { signal }, () => {
    onAcquired();
    return untilReleased();
  });
  void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
    if (lock) return untilReleased();
    if (signal.aborted) return undefined;
    onWaiting();
    // Releasing while waiting ends the request with an expected error.
    void queue().catch(() => undefined);
    return undefined;
  });
  return () => controller.abort();
}
