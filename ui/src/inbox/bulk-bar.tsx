import { Button } from "antd";
import { Suspense, useState } from "react";
import { useStrings } from "../strings";
import { lazyWithRetry } from "../base/lazy";
import type { BulkDecision } from "./bulk";
import { formatCount } from "./stake";
import type { InboxState } from "./use-inbox";
import { useSelectAll } from "./use-select-all";

const loadDialog = () => import("./bulk-dialog");
const BulkDialog = lazyWithRetry(loadDialog);

/** Select all of the list, above one page too. */
function SelectAll({ inbox }: { inbox: InboxState }) {
  const { bulk, language } = useStrings();
  const { isLoading, isComplete, loaded, count, start } = useSelectAll(inbox);
  if (isComplete) return null;
  const label = isLoading ? bulk.selectingAll(formatCount(loaded, language)) : bulk.selectAll(count ?? "");
  return <Button type="link" size="small" loading={isLoading} onClick={() => void start()} data-testid="select-all">{label}</Button>;
}

/** The toolbar for the selected requests. */
export function BulkBar({ inbox }: { inbox: InboxState }) {
  const strings = useStrings();
  const [verdict, setVerdict] = useState<BulkDecision>();
  const { selected, selection } = inbox;
  if (selected.length === 0 && !verdict) return null;
  const count = formatCount(selected.length, strings.language);
  return (
    <div className="inbox-bulk" role="toolbar" aria-label={strings.selected(count)} data-testid="bulk-bar">
      <output data-testid="bulk-count">{strings.selected(count)}</output>
      <SelectAll inbox={inbox} />
      <span className="inbox-bulk-ways">
        <Button type="primary" size="small" onClick={() => setVerdict("approve")} data-testid="bulk-approve">{strings.bulk.approve}</Button>
        <Button danger size="small" onClick={() => setVerdict("reject")} data-testid="bulk-reject">{strings.bulk.reject}</Button>
        <Button type="text" size="small" onClick={() => selection.set([])} aria-label={strings.clearSelection}>✕</Button>
      </span>
      {verdict && (
        <Suspense fallback={null}>
          <BulkDialog inbox={inbox} verdict={verdict} onClose={() => setVerdict(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
