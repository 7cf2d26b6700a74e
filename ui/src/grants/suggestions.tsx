import { Button, Popconfirm, Progress } from "antd";
import { useSession } from "../api/session";
import { useAcceptSuggestion, useSuggestions, type Suggestion } from "../api/suggestions";
import { GrantScope } from "../request/grant-scope";
import { useRequestStrings } from "../strings/detail";
import { Problem } from "../widgets/problem";
import { Link, requestPath } from "../base/router";
import { visible } from "../base/visible";

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
export function Suggestions() {
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
