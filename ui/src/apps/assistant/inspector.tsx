import { Button, Flex, Tag, Drawer, Segmented } from "antd";
import { useState } from "react";
import { isStatus } from "../../api/call";
import { useNarrow } from "../../base/browser";
import { visible } from "../../base/visible";
import { labelOf, useAssistantStrings } from "./strings";
import { reasonText } from "../../strings/catalogue";
import { Loading } from "../../widgets/loading";
import { actorName } from "../../widgets/names";
import { Problem } from "../../widgets/problem";
import { Timestamp } from "../../widgets/timestamp";
import { type Source, useChanges, type Change as MemoryChange, type MemoryItem, type AssistantAction, type Run } from "./api";
import { ConfirmClear } from "./confirm-clear";
import type { Assistant } from "./use-assistant";
import { ValueChange } from "./value-change";
import { Value } from "./value";

/** The origin of a value: its kind, the person or handler, and the quote. */
function Provenance({ source }: { source: Source }) {
  const strings = useAssistantStrings();
  const { kind, actor, quote } = source;
  const who = actor && (kind === "handler" || kind === "derived" ? visible(actor) : actorName(actor, strings));
  return (
    <span className="quiet" data-testid="source">
      {labelOf(strings.sources, kind)}{who && ` · ${who}`}{quote && <q className="quote">{visible(quote)}</q>}
    </span>
  );
}

function Values({ change: { before, after } }: { change: MemoryChange }) {
  if (before !== null && after !== null) return <ValueChange before={before} after={after} />;
  if (after !== null) return <div className="change-new"><Value value={after} /></div>;
  return before !== null ? <div className="change-gone"><Value value={before} /></div> : null;
}

interface MemoryHistoryProps {
  id: string;
  /** Show only the changes of this item. */
  of: MemoryItem | undefined;
  onAll: () => void;
}

/** The changes of a memory, newest first. */
function MemoryHistory({ id, of, onAll }: MemoryHistoryProps) {
  const strings = useAssistantStrings();
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useChanges(id);
  const isNew = isStatus(error, 404);
  const all = data?.pages.flatMap((page) => page.items) ?? [];
  const changes = all.filter(({ key }) => of === undefined || key === of.key);
  return (
    <>
      {of && (
        <Flex gap="small" align="center" wrap>
          <strong>{strings.changesOf(visible(of.title || of.key))}</strong>
          <Button size="small" onClick={onAll} data-testid="all-changes">{strings.allChanges}</Button>
        </Flex>
      )}
      {error && !data && !isNew && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Loading />}
      {(data || isNew) && changes.length === 0 && <p className="quiet">{strings.noChanges}</p>}
      <ol className="inspector-rows detail">
        {changes.map((change) => (
          <li key={change.number} data-testid="memory-change" data-op={change.op} data-key={change.key}>
            <div><strong>{visible(change.title || change.key)}</strong> <span className="quiet">{labelOf(strings.changeTypes, change.op)} · <Timestamp at={change.at} /></span></div>
            <Values change={change} />
            <Provenance source={change.source} />
          </li>
        ))}
      </ol>
      {hasNextPage && <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>{strings.earlierChanges}</Button>}
    </>
  );
}

const colours: Record<string, string> = { collected: "success", error: "error", pending: "default", not_needed: "default" };

const isDefault = ({ source }: MemoryItem) => source?.kind === "default";

function Status({ item }: { item: MemoryItem }) {
  const strings = useAssistantStrings();
  if (isDefault(item)) return <Tag data-testid="item-status" data-status="default">{strings.defaultValue}</Tag>;
  const { status, isFresh } = item;
  const isStale = status === "collected" && !isFresh;
  return <Tag color={isStale ? "warning" : colours[status]} data-testid="item-status" data-status={isStale ? "stale" : status}>{isStale ? strings.stale : labelOf(strings.itemStatuses, status)}</Tag>;
}

interface ItemProps {
  item: MemoryItem;
  assistant: Assistant;
  onWhy: () => void;
}

function Item({ item, assistant, onWhy }: ItemProps) {
  const strings = useAssistantStrings();
  const { key, title, description, status, value, how, source, observedAt, freshUntil, isFresh, scope, error } = item;
  const isAny = item.mayBeAny && value === "any";
  const anyCommand = item.mayBeAny && !isAny ? `any:${key}` : undefined;
  const name = visible(title || key);
  const isKnown = status === "collected";
  const command = how === "handler" ? `refresh:${key}` : how === "ask" && (!isKnown || isDefault(item)) ? `ask:${key}` : undefined;
  const label = how === "handler" ? strings.fetchAgain : isDefault(item) ? strings.changeValue : strings.askForValue;
  return (
    <li data-testid="memory-item" data-key={key} data-status={status}>
      <div className="item-head"><strong>{name}</strong> <Status item={item} /></div>
      {description && <p className="quiet">{visible(description)}</p>}
      <div className="item-value" data-testid="item-value">{isAny ? strings.anyValue : isKnown || value !== null ? <Value value={value} /> : <span className="quiet">{strings.unknownValue} · {labelOf(strings.valueOrigins, how)}</span>}</div>
      {error && <p className="error-text">{visible(reasonText(error, strings))}</p>}
      <div className="item-facts quiet">
        {source && isKnown && <Provenance source={source} />}
        {observedAt && <Timestamp at={observedAt} />}
        {freshUntil && isFresh && <span>{strings.freshUntil(new Date(freshUntil).toLocaleTimeString(strings.language, { hour: "2-digit", minute: "2-digit" }))}</span>}
        {scope === "user" && <span>{strings.userScope}</span>}
      </div>
      <Flex gap="small" wrap>
        {command && (
          <Button
            size="small" disabled={assistant.pendingCommand !== undefined} loading={assistant.pendingCommand === command} onClick={() => assistant.runCommand(command)}
            data-testid="item-fix" aria-label={`${label}: ${name}`}
          >
            {label}
          </Button>
        )}
        {anyCommand && (
          <Button
            size="small" disabled={assistant.pendingCommand !== undefined} loading={assistant.pendingCommand === anyCommand} onClick={() => assistant.runCommand(anyCommand)}
            data-testid="item-any" aria-label={`${strings.anyValue}: ${name}`}
          >
            {strings.anyValue}
          </Button>
        )}
        <Button size="small" type="link" onClick={onWhy} data-testid="item-why" aria-label={`${strings.why} ${name}`}>{strings.why}</Button>
      </Flex>
    </li>
  );
}

/** The values that the assistant knows or needs, with their origins. */
function MemoryItems({ assistant, onWhy }: { assistant: Assistant; onWhy: (item: MemoryItem) => void }) {
  const strings = useAssistantStrings();
  const items = assistant.memory?.items ?? [];
  return (
    <>
      <p className="quiet">{strings.correctMemoryHint}</p>
      {items.length === 0 && <p className="quiet">{strings.emptyMemory}</p>}
      <ul className="inspector-rows">
        {items.map((item) => <Item key={item.key} item={item} assistant={assistant} onWhy={() => onWhy(item)} />)}
      </ul>
    </>
  );
}

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
