import { Button, Empty, Tag } from "antd";
import { useRef } from "react";
import { useGrants, useRevokeGrant, type GrantView } from "../api/grants";
import { useSession } from "../api/session";
import { useSuggestions } from "../api/suggestions";
import { GrantScope } from "../request/grant-scope";
import { useRequestStrings } from "../strings/detail";
import { focusedRow, useListKeys } from "../widgets/list-keys";
import { useKeys } from "../base/keys";
import { Loading } from "../widgets/loading";
import { Problem } from "../widgets/problem";
import { Link, requestPath } from "../base/router";
import { clock } from "../widgets/time";
import { visible } from "../base/visible";
import { Checks } from "./checks";
import "./grants.css";
import { Suggestions } from "./suggestions";

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
