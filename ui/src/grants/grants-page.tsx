import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Alert, Table, Tag, Button, Popconfirm, Progress, Empty } from "antd";
import { useRef } from "react";
import { call } from "../api/call";
import type * as api from "../api/schema";
import type { JsonObject, CheckShare } from "../api/schema";
import { useSession } from "../api/session";
import type { GrantView } from "../api/types";
import { useKeys } from "../base/keys";
import { Link, requestPath } from "../base/router";
import { visible } from "../base/visible";
import { GrantScope } from "../request/grant-scope";
import { useRequestStrings } from "../strings/detail";
import { focusedRow, useListKeys } from "../widgets/list-keys";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { clock } from "../widgets/time";
import "./grants.css";

export type { GrantView };

/** The calls that people have approved in advance, polled while mounted. */
function useGrants() {
  return useQuery({
    queryKey: ["grants"],
    queryFn: () => call<{ items: GrantView[] }>("GET", "/v1/grants"),
    staleTime: 0,
    refetchInterval: 5_000,
  });
}

/** Revoke one grant. */
function useRevokeGrant(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<undefined>("POST", `/v1/grants/${encodeURIComponent(id)}/revoke`, {}),
    onSettled: () => client.invalidateQueries({ queryKey: ["grants"] }),
  });
}

/** A suggested rule with its conditions as plain JSON. */
type Suggestion = Omit<api.Suggestion, "where"> & { where: JsonObject };

const key = ["suggestions"];

/** The rules that the decisions of people suggest. */
function useSuggestions() {
  return useQuery({ queryKey: key, queryFn: () => call<{ items: Suggestion[] }>("GET", "/v1/suggestions"), staleTime: 60_000 });
}

/** Switch on a suggested rule with its usual limits. */
function useAcceptSuggestion(id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => call<api.Request>("POST", `/v1/suggestions/${encodeURIComponent(id)}/accept`, {}),
    onSettled: () => Promise.all([client.invalidateQueries({ queryKey: key }), client.invalidateQueries({ queryKey: ["grants"] })]),
  });
}

/** The checks of people's attention; only for administrators and auditors. */
function useChecks(enabled: boolean) {
  return useQuery({ queryKey: ["checks"], queryFn: () => call<api.CheckReport>("GET", "/v1/checks"), enabled, staleTime: 10_000 });
}

/** The shares of tools or of people. Two tables stand below each other: their columns have the same widths. */
function Shares({ title, shares }: { title: string; shares: CheckShare[] }) {
  const { granting: { checks: strings } } = useRequestStrings();
  return (
    <Table<CheckShare>
      size="small" pagination={false} rowKey="name" dataSource={shares} tableLayout="fixed"
      columns={[
        {
          title, dataIndex: "name", width: "40%", rowScope: "row",
          render: (name: string, { alarm }) => <span className="check-name"><span>{visible(name)}</span>{alarm && <Tag color="error">{strings.low}</Tag>}</span>,
        },
        { title: strings.newest, align: "right", render: (_, row) => strings.share(row.newest_caught, row.newest) },
        { title: strings.total, align: "right", render: (_, row) => strings.share(row.caught, row.total) },
      ]}
    />
  );
}

/** How many checks each tool's calls and each person got, and how many were noticed; only for those who may read it. */
function Checks() {
  const { granting: { checks: strings } } = useRequestStrings();
  const role = useSession().data?.role;
  const { data } = useChecks(role === "admin" || role === "auditor");
  if (!data || data.items.length === 0) return null;
  const shares = [...data.tools, ...data.people];
  const alarms = shares.filter(({ alarm }) => alarm).map(({ name }) => visible(name));
  return (
    <section aria-labelledby="checks" data-testid="checks" className="checks">
      <h2 id="checks">{strings.heading}</h2>
      <p className="quiet">{strings.hint}</p>
      {alarms.length > 0 && <Alert type="error" showIcon title={strings.alarm(alarms.join(strings.comma))} data-testid="checks-alarm" />}
      {shares.length === 0 && <p className="quiet">{strings.unanswered(data.items.length)}</p>}
      {data.tools.length > 0 && <Shares title={strings.tool} shares={data.tools} />}
      {data.people.length > 0 && <Shares title={strings.person} shares={data.people} />}
    </section>
  );
}

function SuggestionRow({ rule, mayAccept }: { rule: Suggestion; mayAccept: boolean }) {
  const { granting: { suggestions: strings } } = useRequestStrings();
  const { mutate, isPending, error } = useAcceptSuggestion(rule.id);
  const scope = { where: rule.where, names: Object.keys(rule.where), thread_id: null, folder: null, asked_by: rule.asked_by, agent: rule.agent };
  return (
    <li className="grant-row" data-testid="suggestion">
      <div className="grant-head">
        <strong><code>{visible(rule.tool)}</code></strong>
        <span className="quiet">{strings.approved(rule.approved, rule.decisions)}</span>
      </div>
      <GrantScope scope={scope} />
      <div className="suggestion-figures">
        <Progress percent={(rule.covered / rule.replayed) * 100} showInfo={false} size="small" status="normal" aria-label={strings.covered(rule.covered, rule.replayed)} />
        <span>{strings.covered(rule.covered, rule.replayed)}</span>
        <span>{strings.newer(rule.newer_covered, rule.newer)}</span>
      </div>
      <div className="quiet">{strings.terms}</div>
      <Link to={requestPath(rule.template)}>{strings.example}</Link>
      <Problem error={error} />
      {mayAccept && (
        <Popconfirm
          title={strings.confirm(visible(rule.tool))} description={strings.terms} okText={strings.accept} cancelText={strings.cancel}
          placement="topLeft" styles={{ root: { maxWidth: "min(440px, calc(100vw - 48px))", overflowWrap: "anywhere" } }} onConfirm={() => mutate()}
        >
          <Button size="small" loading={isPending} data-testid="accept-suggestion">{strings.accept}</Button>
        </Popconfirm>
      )}
    </li>
  );
}

/** The rules that the decisions of people suggest; nothing without any. */
function Suggestions() {
  const { granting: { suggestions: strings } } = useRequestStrings();
  const { data } = useSuggestions();
  const role = useSession().data?.role;
  if (!data || data.items.length === 0) return null;
  return (
    <section aria-labelledby="suggestions" className="checks">
      <h2 id="suggestions">{strings.heading}</h2>
      <p className="quiet">{strings.hint}</p>
      <ul className="grants">{data.items.map((rule) => <SuggestionRow key={rule.id} rule={rule} mayAccept={role !== "auditor"} />)}</ul>
    </section>
  );
}

function GrantRow({ view }: { view: GrantView }) {
  const { granting, language } = useRequestStrings();
  const session = useSession().data;
  const { mutate, isPending, error } = useRevokeGrant(view.id);
  return (
    <li className="grant-row" tabIndex={-1} data-id={view.id} data-testid="grant-row" data-status={view.status}>
      <div className="grant-head">
        <strong><code>{visible(view.grant.tool)}</code></strong>
        <Tag color={view.status === "active" ? "success" : "default"}>{granting.statuses[view.status]}</Tag>
        <span className="quiet">{granting.uses(view.uses, view.grant.max_uses)} · {granting.ends(clock(view.grant.until, language))}</span>
      </div>
      <GrantScope scope={view.grant} />
      {view.grant.one_in !== undefined && view.grant.one_in > 0 && <div className="quiet">{granting.stillAsks(view.grant.one_in)}</div>}
      {view.refuted_by && <div><Link to={requestPath(view.refuted_by)}>{granting.refuted}</Link></div>}
      <div className="quiet">
        <Link to={requestPath(view.id)}>{visible(view.title)}</Link> · {granting.by(visible(view.granted_by), clock(view.granted_at, language))}
      </div>
      <Problem error={error} />
      {view.status === "active" && session?.role !== "auditor" && (
        <Button danger size="small" loading={isPending} onClick={() => mutate()} data-testid="revoke-grant">{granting.revoke}</Button>
      )}
    </li>
  );
}

/** The calls that people have approved in advance, to read and to revoke. */
export default function GrantsPage() {
  const { granting, ...strings } = useRequestStrings();
  const { data, error, refetch } = useGrants();
  const hasSuggestions = (useSuggestions().data?.items.length ?? 0) > 0;
  const list = useRef<HTMLUListElement>(null);
  const revoke = () => focusedRow(list)?.querySelector<HTMLElement>("[data-testid=revoke-grant]")?.click();
  useKeys(strings.grantsPage, [
    ...useListKeys(list, granting.next, granting.previous),
    { key: "d", label: granting.revoke, run: revoke, once: true },
  ]);
  return (
    <div className="page-column">
      <h1>{strings.grantsPage}</h1>
      <p className="quiet">{granting.pageHint}</p>
      <Suggestions />
      {hasSuggestions && <h2>{granting.grants}</h2>}
      {error && !data && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading paragraph={{ rows: 4 }} />}
      {data?.items.length === 0 && (
        <Empty image={Empty.PRESENTED_IMAGE_SIMPLE} description={granting.none} data-testid="no-grants"><span className="quiet">{granting.noneHint}</span></Empty>
      )}
      {data && data.items.length > 0 && (
        <ul ref={list} className="grants" aria-label={strings.grantsPage}>{data.items.map((view) => <GrantRow key={view.id} view={view} />)}</ul>
      )}
      <Checks />
    </div>
  );
}
