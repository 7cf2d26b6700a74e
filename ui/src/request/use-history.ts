import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import type { AuditEvent, Page, Request } from "../api/types";

/** One change of a request: actor, time and changed fields. */
export type HistoryEvent = Omit<AuditEvent, "changed"> & { changed: Partial<Request> };

async function readAll(id: string, after?: string): Promise<HistoryEvent[]> {
  const query = new URLSearchParams({ request_id: id, limit: "200", ...(after !== undefined && { after }) });
  const { items, next } = await call<Page<HistoryEvent>>("GET", `/v1/audit?${query.toString()}`);
  return next === null ? items : [...items, ...await readAll(id, next)];
}

/** Read the history of a request; each new version reads it again. */
export function useHistory(request: Request, enabled: boolean) {
  const { id, version } = request;
  return useQuery({
    queryKey: ["history", id, version], queryFn: () => readAll(id), enabled, placeholderData: (before) => before,
  });
}
