import { Button, Drawer, Segmented } from "antd";
import { useState } from "react";
import { reasonText } from "../strings/catalogue";
import { useNarrow } from "../base/media";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import { MemoryHistory } from "./memory-history";
import { ConfirmClear } from "./confirm-clear";
import { MemoryItems } from "./memory-items";
import type { AssistantAction, MemoryItem, Run } from "./types";
import type { Assistant } from "./use-assistant";
import { labelOf, useAssistantStrings } from "../strings/assistant";

type Tab = "items" | "runs" | "history";
const tabs: Tab[] = ["items", "runs", "history"];

interface RunsProps {
  runs: Run[];
  actions: AssistantAction[];
}

function Runs({ runs, actions }: RunsProps) {
  const strings = useAssistantStrings();
  const nameOf = (workflow: string) => actions.find(({ workflowName }) => workflowName === workflow)?.label ?? workflow;
  if (runs.length === 0) return <p className="quiet">{strings.noRuns}</p>;
  return (
    <ul className="inspector-rows">
      {runs.map(({ workflow, status, at, error }) => (
        <li key={workflow} data-testid="memory-run" data-status={status}>
          <div><strong>{visible(nameOf(workflow))}</strong> <span className="quiet">{labelOf(strings.planStatuses, status)}{at && <> · <Timestamp at={at} /></>}</span></div>
          {error && <p className="error-text">{visible(reasonText(error, strings))}</p>}
        </li>
      ))}
    </ul>
  );
}

interface InspectorProps {
  id: string;
  assistant: Assistant;
  open: boolean;
  onClose: () => void;
}

/** The drawer with the memory of a conversation: values, workflow runs and history. */
export function Inspector({ id, assistant, open, onClose }: InspectorProps) {
  const strings = useAssistantStrings();
  const narrow = useNarrow();
  const [tab, setTab] = useState<Tab>("items");
  const [of, setOf] = useState<MemoryItem>();
  const [clearing, setClearing] = useState(false);
  const why = (item: MemoryItem | undefined) => {
    setOf(item);
    setTab("history");
  };
  const close = () => {
    setClearing(false);
    onClose();
  };
  return (
    <Drawer
      open={open} onClose={close} size={narrow ? "100%" : 520} title={strings.contextMemory} closable={{ "aria-label": strings.closeMemory }} className="inspector"
      getContainer={() => document.querySelector<HTMLElement>(".app") ?? document.body}
    >
      <div className="inspector-body" data-testid="memory-inspector">
        <Segmented block aria-label={strings.contextMemory} options={tabs.map((value) => ({ value, label: strings.memoryTabs[value] }))} value={tab} onChange={setTab} />
        {tab === "items" && <MemoryItems assistant={assistant} onWhy={why} />}
        {tab === "runs" && <Runs runs={assistant.memory?.runs ?? []} actions={assistant.actions} />}
        {tab === "history" && <MemoryHistory id={id} of={of} onAll={() => setOf(undefined)} />}
        {clearing ? <ConfirmClear id={id} onBack={() => setClearing(false)} />
          : assistant.isStarted && <Button danger onClick={() => setClearing(true)} data-testid="clear-context">{strings.clearContext}</Button>}
      </div>
    </Drawer>
  );
}
