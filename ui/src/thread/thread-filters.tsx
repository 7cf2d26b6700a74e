import { Segmented, Select } from "antd";
import { useState } from "react";
import { useAgents, type ThreadFilters } from "../api/threads";
import type { ThreadStatus } from "../api/types";
import { useStrings } from "../strings";
import { useMedia } from "../base/media";
import { go, useSearch } from "../base/router";
import { visible } from "../base/visible";

type Status = ThreadStatus | "all";
const statuses: Status[] = ["all", "running", "interrupted", "error", "done", "idle"];

/** The filters in the URL, and how to change them. */
export function useFilters(): [ThreadFilters, (filters: ThreadFilters) => void] {
  const search = new URLSearchParams(useSearch());
  const status = statuses.find((one) => one === search.get("status"));
  const agent = search.get("agent")?.trim();
  const change = (next: ThreadFilters) => {
    const query = new URLSearchParams({ ...(next.status && { status: next.status }), ...(next.agent && { agent: next.agent }) });
    go(query.size > 0 ? `/threads?${query.toString()}` : "/threads", { replace: true });
  };
  return [{ status: status === "all" ? undefined : status, agent: agent === "" ? undefined : agent }, change];
}

interface FilterProps {
  filters: ThreadFilters;
  onChange: (filters: ThreadFilters) => void;
}

export function StatusFilter({ filters, onChange }: FilterProps) {
  const strings = useStrings();
  const narrow = useMedia("(max-width: 700px)");
  const options = statuses.map((one) => ({ value: one, label: one === "all" ? (narrow ? strings.anyStatusNarrow : strings.anyStatus) : strings.threadStatuses[one] }));
  const choose = (next: Status) => onChange({ ...filters, status: next === "all" ? undefined : next });
  const value: Status = filters.status ?? "all";
  const common = { value, onChange: choose, options, "aria-label": strings.statusFilter, "data-testid": "status-filter" };
  return narrow ? <Select {...common} className="status-filter" /> : <Segmented<Status> {...common} />;
}

/** Choose one of the agents that can be started, or type another. */
export function AgentFilter({ filters, onChange }: FilterProps) {
  const strings = useStrings();
  const agents = useAgents().data?.items ?? [];
  const [typed, setTyped] = useState("");
  const names = [...new Set([...agents.map(({ name }) => name), filters.agent ?? "", typed])].filter((name) => name !== "").sort();
  const options = [{ value: "", label: strings.anyAgent }, ...names.map((name) => ({ value: name, label: visible(name) }))];
  return (
    <Select<string>
      className="agent-filter" aria-label={`${strings.show}: ${strings.agent}`} popupMatchSelectWidth={false} data-testid="agent-filter"
      showSearch={{ onSearch: (text) => setTyped(text.trim()) }} value={filters.agent ?? ""} options={options}
      onChange={(agent) => onChange({ ...filters, agent: agent || undefined })}
    />
  );
}
