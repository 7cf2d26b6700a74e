import { Button, Flex, Tag } from "antd";
import { reasonText } from "../strings/catalogue";
import { Timestamp } from "../widgets/time";
import { visible } from "../base/visible";
import { Provenance } from "./provenance";
import type { MemoryItem } from "./types";
import type { Assistant } from "./use-assistant";
import { Value } from "./value";
import { labelOf, useAssistantStrings } from "../strings/assistant";

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
export function MemoryItems({ assistant, onWhy }: { assistant: Assistant; onWhy: (item: MemoryItem) => void }) {
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
