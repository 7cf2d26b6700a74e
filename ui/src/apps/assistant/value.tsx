import { isObject, type Json, type JsonObject } from "../../api/types";
import { visible } from "../../base/visible";
import { useStrings } from "../../strings";
import { AgentText } from "../../widgets/agent-text";
import { JsonValue } from "../../widgets/json-value";

/** Values that are nested deeper, or lists that are longer, are shown as JSON. */
const deepest = 2;
const most = 12;

/** Tell whether a value is a text by language. */
const isByLanguage = (value: Json): value is JsonObject => isObject(value) && Object.keys(value).length > 0
  && Object.entries(value).every(([name, text]) => ["en", "ja", "zh"].includes(name) && typeof text === "string");

/** Return a value with each text by language replaced by the text in one language. */
export function inLanguage(value: Json, language: string): Json {
  if (isByLanguage(value)) return value[language] ?? value.en ?? Object.values(value)[0] ?? "";
  if (Array.isArray(value)) return value.map((item) => inLanguage(item, language));
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inLanguage(one, language)])) : value;
}

const isPlain = (value: Json) => typeof value !== "object" || value === null;

function Plain({ value }: { value: Json }) {
  return typeof value === "string" ? <AgentText text={value} /> : <>{value === null ? "–" : String(value)}</>;
}

function Pairs({ value, depth }: { value: JsonObject; depth: number }) {
  return (
    <dl className="value-pairs">
      {Object.entries(value).map(([name, one]) => (
        <div key={name}><dt>{visible(name)}</dt><dd><Part value={one} depth={depth + 1} /></dd></div>
      ))}
    </dl>
  );
}

/** An item of a list on one line. */
function Line({ value }: { value: Json }) {
  if (!isObject(value)) return <Plain value={value} />;
  return <AgentText text={Object.entries(value).map(([name, one]) => `${name}: ${isPlain(one) ? String(one) : JSON.stringify(one)}`).join(" · ")} />;
}

function Part({ value, depth }: { value: Json; depth: number }) {
  if (isPlain(value)) return <Plain value={value} />;
  if (depth >= deepest) return <JsonValue value={value} />;
  if (isObject(value)) return <Pairs value={value} depth={depth} />;
  const items = value as Json[];
  if (items.length === 0) return <>–</>;
  if (items.length > most) return <JsonValue value={value} />;
  if (items.every(isPlain) && items.join("").length < 80) return <AgentText text={items.join(", ")} />;
  const keyed = items.map((item, at) => ({ key: `${at} ${JSON.stringify(item)}`, item }));
  return <ul className="value-list">{keyed.map(({ key, item }) => <li key={key}><Line value={item} /></li>)}</ul>;
}

/** A value in readable form: text, lists and pairs, and JSON only if it is complex. */
export function Value({ value }: { value: Json }) {
  const { language } = useStrings();
  return <Part value={inLanguage(value, language)} depth={0} />;
}
