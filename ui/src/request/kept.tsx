import { Alert, Button } from "antd";
import { useState } from "react";
import type { Request } from "../api/types";
import { AgentText } from "../widgets/agent-text";
import { forget, keptWords } from "./draft-store";
import { useOwner } from "./use-desk";
import { useWords } from "./words";

interface KeptProps {
  id: string;
  /** The question whose draft stands in its fields now; another one is offered to be copied, never filled in. */
  shown?: Request | undefined;
}

/** What this person typed about a request and never sent: theirs to copy or to discard. */
export function Kept({ id, shown }: KeptProps) {
  const strings = useWords();
  const owner = useOwner();
  const [, again] = useState(0);
  const copies = "clipboard" in navigator;
  return keptWords(owner, id, shown).map(({ key, words }) => (
    <Alert
      key={key} type="info" data-testid="kept"
      title={(
        <div className="lines">
          <strong>{shown ? strings.keptOther : strings.keptTitle}</strong>
          <AgentText text={words} />
        </div>
      )}
      action={(
        <div className="bar">
          {copies && (
            <Button size="small" onClick={() => void navigator.clipboard.writeText(words)}>{strings.copy}</Button>
          )}
          <Button
            size="small" type="text" data-testid="discard-kept"
            onClick={() => {
              forget(key);
              again((count) => count + 1);
            }}
          >
            {strings.discard}
          </Button>
        </div>
      )}
    />
  ));
}
