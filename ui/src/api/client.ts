import { QueryClient, type InvalidateOptions, type InvalidateQueryFilters, type Query, MutationCache, QueryCache } from "@tanstack/react-query";
import { isStatus, ProblemError } from "./call";

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

export function createClient(): QueryClient {
  const client = new FreshClient({
    queryCache: new QueryCache({ onError: (error, query) => query.queryKey[0] !== "session" && signedOut(error) }),
    mutationCache: new MutationCache({ onError: (error) => signedOut(error) }),
    defaultOptions: {
      queries: {
        // The feed delivers changes, so a refetch on focus is not needed.
        staleTime: 30_000,
        // A machine without a network still reaches its own server.
        networkMode: "always",
        // A query reports within two seconds that the server is unreachable, and recovers by itself.
        retry: (failures, error) => failures < 2 && isDown(error),
        retryDelay: (failures) => 300 * 2 ** failures,
        refetchInterval: ({ state }) => (state.status === "error" && isDown(state.error) ? 3_000 : false),
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
  function signedOut(error: Error) {
    if (isStatus(error, 401)) client.setQueryData(["session"], null);
  }
  return client;
}

export const isDown = (error: unknown) => error instanceof ProblemError && (error.status === 0 || error.status >= 500);
