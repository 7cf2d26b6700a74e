import { Button } from "antd";
import { Suspense, useState } from "react";
import { useStrings } from "../strings";
import { lazyWithRetry } from "../widgets/lazy";
import type { BulkDecision } from "./bulk";
import type { InboxState } from "./use-inbox";

const loadDialog = () => import("./bulk-dialog");
const BulkDialog = lazyWithRetry(loadDialog);

/** The toolbar for the selected requests. */
export function BulkBar({ inbox }: { inbox: InboxState }) {
  const strings = useStrings();
  const [verdict, setVerdict] = useState<BulkDecision>();
  const { selected, selection } = inbox;
  if (selected.length === 0 && !verdict) return null;
  const count = String(selected.length);
  return (
    <div className="inbox-bulk" role="toolbar" aria-label={strings.selected(count)} data-testid="bulk-bar">
      <output data-testid="bulk-count">{strings.selected(count)}</output>
      <Button type="primary" size="small" onClick={() => setVerdict("approve")} data-testid="bulk-approve">{strings.bulk.approve}</Button>
      <Button danger size="small" onClick={() => setVerdict("reject")} data-testid="bulk-reject">{strings.bulk.reject}</Button>
      <Button type="text" size="small" onClick={() => selection.set([])} aria-label={strings.clearSelection}>✕</Button>
      {verdict && (
        <Suspense fallback={null}>
          <BulkDialog inbox={inbox} verdict={verdict} onClose={() => setVerdict(undefined)} />
        </Suspense>
      )}
    </div>
  );
}
