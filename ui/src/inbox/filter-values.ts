import type { Filters } from "../api/lists";
import type { Request } from "../api/types";

const sorted = (values: Iterable<string | null | undefined>) => [...new Set(values)].filter((value) => typeof value === "string").sort();

/** Return the agents, tools and groups of requests. */
export const valuesOf = (requests: readonly Request[]) => ({
  agents: sorted(requests.map(({ agent }) => agent)),
  tools: sorted(requests.map(({ action }) => action?.name)),
  groups: sorted(requests.flatMap(({ candidate_groups: groups }) => groups)),
});

/** Return how often each tool is asked about, the most frequent first; the chosen one is always there. */
export function countTools(requests: readonly Request[], chosen: string | undefined): [string, number][] {
  const counts = new Map<string, number>(chosen === undefined ? [] : [[chosen, 0]]);
  for (const { action } of requests) if (action) counts.set(action.name, (counts.get(action.name) ?? 0) + 1);
  return [...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1));
}

/** Return how many filters are set besides the search. */
export const activeFilters = ({ kind, priority, tier, agent, tool, group }: Filters) =>
  [kind, priority, tier, agent, tool, group].filter(Boolean).length;
