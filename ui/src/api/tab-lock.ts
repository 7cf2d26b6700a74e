/** Hold a name that one tab of this browser has at a time. */
export interface TabLock {
  /** Whoever held it before has let go. */
  onAcquired: () => void;
  /** Another tab holds it now. */
  onWaiting: () => void;
}

/** Take the turn, at once or when the tab that has it lets go; return how to let go. */
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
    // Letting go while it waits ends the request with an error that says just that.
    void queue().catch(() => undefined);
    return undefined;
  });
  return () => controller.abort();
}
