/** Hold a name that one tab of this browser has at a time. */
export interface Turn {
  /** Whoever held it before has let go. */
  begun: () => void;
  /** Another tab holds it now. */
  waits: () => void;
}

/** Take the turn, at once or when the tab that has it lets go; return how to let go. */
export function takeTurn(name: string, { begun, waits }: Turn): () => void {
  const letGo = new AbortController();
  const { signal } = letGo;
  const held = () => new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => resolve());
    if (signal.aborted) resolve();
  });
  const queue = () => navigator.locks.request(name, { signal }, () => {
    begun();
    return held();
  });
  void navigator.locks.request(name, { ifAvailable: true }, (lock) => {
    if (lock) return held();
    if (signal.aborted) return undefined;
    waits();
    // Letting go while it waits ends the request with an error that says just that.
    void queue().catch(() => undefined);
    return undefined;
  });
  return () => letGo.abort();
}
