import { QueryClient, type InvalidateOptions, type InvalidateQueryFilters, type Query } from "@tanstack/react-query";

/** A query client that repeats a read that is under way when it is invalidated: its reply may be older than the change. */
export class FreshClient extends QueryClient {
  readonly #repeated = new WeakSet<Promise<unknown>>();

  override invalidateQueries(filters?: InvalidateQueryFilters, options?: InvalidateOptions): Promise<void> {
    const reading = this.getQueryCache().findAll({ ...filters, fetchStatus: "fetching" });
    // The library restarts only an active read that has data already; it would take the reply of any other as new.
    for (const query of reading) if (query.state.data === undefined || !query.isActive()) this.#repeat(query);
    return super.invalidateQueries(filters, options);
  }

  #repeat({ promise, queryKey }: Query): void {
    if (!promise || this.#repeated.has(promise)) return;
    this.#repeated.add(promise);
    const again = () => void super.invalidateQueries({ queryKey, exact: true });
    promise.then(again, again);
  }
}
