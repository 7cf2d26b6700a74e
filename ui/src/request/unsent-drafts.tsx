import { Alert, Button } from "antd";
import { useState } from "react";
import type { Request } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { AgentText } from "../widgets/agent-text";
import { removeDraft, unsentDrafts, useOwner } from "./draft-store";

interface UnsentDraftsProps {
  id: string;
  /** The request whose draft fills the form now; drafts of other versions can only be copied. */
  current?: Request | undefined;
}

/** Drafts that were never sent, to copy or to discard. */
export function UnsentDrafts({ id, current }: UnsentDraftsProps) {
  const strings = useRequestStrings();
  const owner = useOwner();
  const [, refresh] = useState(0);
  const copies = "clipboard" in navigator;
  return unsentDrafts(owner, id, current).map(({ key, text }) => (
    <Alert
      key={key} type="info" data-testid="unsent-draft"
      title={(
        <div className="text-lines">
          <strong>{current ? strings.savedTextHint : strings.savedTextTitle}</strong>
          <AgentText text={text} />
        </div>
      )}
      action={(
        <div className="button-bar">
          {copies && (
            <Button size="small" onClick={() => void navigator.clipboard.writeText(text)}>{strings.copy}</Button>
          )}
          <Button
            size="small" type="text" data-testid="discard-draft"
            onClick={() => {
              removeDraft(key);
              refresh((count) => count + 1);
            }}
          >
            {strings.discard}
          </Button>
        </div>
      )}
    />
  ));
}
