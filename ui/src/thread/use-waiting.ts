import { useQueries } from "@tanstack/react-query";
import { requestQuery } from "../api/requests";
import type { Request } from "../api/types";
import type { ItemOf } from "./stream";

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Return whether a request asks about this call: the order of the arguments does not count. */
function asksAbout({ action }: Request, { name, args }: ItemOf<"tool">): boolean {
  const sent = Object(parse(args)) as { [key: string]: unknown };
  const names = Object.keys(action?.args ?? {});
  return action?.name === name && names.length === Object.keys(sent).length && names.every((key) => JSON.stringify(action.args[key]) === JSON.stringify(sent[key]));
}

/** Return whether a call without a result waits for a person, and the request if it is known which one. */
export function useWaiting(item: ItemOf<"tool">): { isWaiting: boolean; request: string | undefined } {
  const isOpen = item.result === null && item.until === null;
  return useQueries({
    queries: isOpen ? (item.waits ?? []).map(requestQuery) : [],
    combine: (all) => {
      const pending = all.flatMap(({ data }) => (data?.status === "pending" ? [data] : []));
      const request = pending.find((one) => asksAbout(one, item)) ?? (pending.length === 1 ? pending[0] : undefined);
      // A request that this person may not read waits too.
      return { isWaiting: all.some(({ data }) => !data || data.status === "pending"), request: request?.id };
    },
  });
}
