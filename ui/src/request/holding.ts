import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { call, isStatus } from "../api/call";
import { drop, keep } from "../api/requests";
import { useSession } from "../api/session";
import type { Request } from "../api/types";
import { maySee } from "./people";

/** Whether a time has come; the component is drawn again when it does, and not each second until then. */
function usePassed(at: string | null | undefined): boolean {
  const time = at ? Date.parse(at) : Number.POSITIVE_INFINITY;
  const subscribe = useCallback((changed: () => void) => {
    const wait = time - Date.now();
    // A browser's timer takes 31 bits of milliseconds and rings at once beyond them.
    const timer = wait > 0 && wait < 2 ** 31 ? setTimeout(changed, wait + 100) : undefined;
    return () => clearTimeout(timer);
  }, [time]);
  return useSyncExternalStore(subscribe, () => time <= Date.now());
}

export interface Holder {
  name: string;
  until: string | null;
  isMe: boolean;
}

/** Who keeps others from deciding now. */
export function useHolder(request: Request): Holder | null {
  const me = useSession().data?.name;
  const { claimed_by: name, claimed_until: until } = request;
  const isOver = usePassed(until);
  return !name || isOver ? null : { name, until: until ?? null, isMe: name === me };
}

export interface Move {
  verb: "claim" | "release" | "reassign";
  body?: { assignee?: string; candidate_groups?: string[] };
}

/**
 * Claim, release or pass on a request.
 *
 * `onMoved` is called also when its component is gone: the news of a request passed on may be faster than the reply.
 */
export function useMove({ id }: Request, onMoved?: (changed: Request, maySee: boolean) => void) {
  const client = useQueryClient();
  const session = useSession().data;
  return useMutation({
    mutationFn: ({ verb, body }: Move) =>
      call<Request>("POST", `/v1/requests/${encodeURIComponent(id)}/${verb}`, body),
    onSuccess: (changed) => {
      const isSeen = !session || maySee(changed, session);
      if (isSeen) keep(client, changed);
      else drop(client, changed.id);
      onMoved?.(changed, isSeen);
    },
    onError: (error) => {
      if (isStatus(error, 409)) void client.invalidateQueries({ queryKey: ["request", id] });
    },
  });
}

export interface Holding {
  holder: Holder | null;
  claim: () => void;
  release: () => void;
  /** What is on its way to the server. */
  moving: Move["verb"] | null;
  error: Error | null;
}

/** Claiming a request and letting it go. */
export function useHolding(request: Request): Holding {
  const move = useMove(request);
  const moving = move.isPending ? move.variables.verb : null;
  // The feed may show a claim before its reply is here: letting it go again must not wait for that.
  const go = (verb: Move["verb"]) => () => {
    if (moving !== verb) move.mutate({ verb });
  };
  return { holder: useHolder(request), claim: go("claim"), release: go("release"), moving, error: move.error };
}
