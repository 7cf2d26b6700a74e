import { Button, Image, Typography } from "antd";
import { createElement, useMemo, useState, type ReactNode } from "react";
import { isObject, type Json } from "../api/types";
import { lazyWithRetry } from "../base/browser";
import { formatBytes } from "../base/numbers";
import { visible, visibleJson } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/json-value";
import { MarkedText } from "../widgets/marked-text";
import { CodeView } from "./code-view";
import { clipText, clipTree, isClipped, type TreeNode, lastLevel, useExpansion, type Expansion } from "./expansion";
import { MoreButton } from "./more-button";
import { LinkCard } from "./link-card";
import { PatchView } from "./patch-view";
import { PdfPages } from "./pdf-pages";
import { Prose } from "./prose";
import { type Mail, mailOf, type Shape } from "./shape";
import "./values.css";

interface MediaProps {
  media: string;
  /** The file in base64. */
  data: string;
  name: string;
}

const sizeOf = (data: string) => Math.floor((data.replace(/=+$/, "").length * 3) / 4);

/** An image from the bytes of the value itself. */
function ImageView({ media, data, name }: MediaProps) {
  const strings = useRequestStrings();
  return (
    <>
      <Image src={`data:${media};base64,${data}`} alt={name} className="display-image" />
      <div className="quiet">{media} · {formatBytes(sizeOf(data), strings.language)}</div>
    </>
  );
}

const bytesOf = (data: string) => Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));

function save(data: string, media: string, name: string) {
  const url = URL.createObjectURL(new Blob([bytesOf(data)], { type: media }));
  Object.assign(document.createElement("a"), { href: url, download: name }).click();
  URL.revokeObjectURL(url);
}

/** A PDF: pictures of its pages, and the file to save. */
function PdfView({ media, data, name }: MediaProps) {
  const strings = useRequestStrings();
  return (
    <>
      <div className="attach-line" data-testid="pdf">
        <span>PDF · {formatBytes(sizeOf(data), strings.language)}</span>
        <Button size="small" onClick={() => save(data, media, `${name.replace(/[^\w-]+/g, "_") || "document"}.pdf`)} data-testid="save-pdf">{strings.values.savePdf}</Button>
      </div>
      <PdfPages key={data} name={visible(name)} load={async () => bytesOf(data)} />
    </>
  );
}

function Leaf({ value, expansion }: { value: Json; expansion: Expansion }) {
  const strings = useRequestStrings();
  const { text, hidden } = clipText(visibleJson(value), expansion.level);
  return (
    <>
      <code className="json"><MarkedText text={text} /></code>
      {hidden && <MoreButton label={strings.values.moreOf(hidden)} onExpand={expansion.expand} />}
    </>
  );
}

const nameOf = ({ key }: TreeNode, at: number) => (key === null ? <span className="quiet">{at}</span> : <code><MarkedText text={visible(JSON.stringify(key).slice(1, -1))} /></code>);

function Branch({ node, name, expansion, isOpen }: { node: TreeNode; name: React.ReactNode; expansion: Expansion; isOpen: boolean }) {
  const { values } = useRequestStrings();
  if (node.parts === null) return <div className="tree-leaf">{name}{name && ": "}<Leaf value={node.value} expansion={expansion} /></div>;
  const size = Array.isArray(node.value) ? values.items(node.size) : values.fields(node.size);
  if (node.size === 0) return <div className="tree-leaf">{name}{name && ": "}<JsonValue value={node.value} /></div>;
  return (
    <details className="tree" open={isOpen}>
      <summary>{name} <span className="quiet">{size}</span></summary>
      {createElement("div", { className: "tree-parts" }, ...node.parts.map((part, at) => (
        createElement(Branch, { node: part, name: nameOf(part, at), expansion, isOpen })
      )))}
      {node.hidden > 0 && <MoreButton label={values.moreValues(node.hidden)} onExpand={expansion.expand} />}
    </details>
  );
}

/** JSON that can be folded. What is too large for a tree is shown whole as text at the end of its expansion. */
function JsonTree({ value }: { value: Json }) {
  const expansion = useExpansion();
  const tree = useMemo(() => clipTree(value, expansion.level), [value, expansion.level]);
  if (expansion.level >= lastLevel && isClipped(tree)) return <JsonValue value={value} />;
  return <Branch key={expansion.level} node={tree} name={null} expansion={expansion} isOpen />;
}

/** Of many recipients the first are shown. */
const recipients = 20;

/** A mail as it would be sent: who, what about, and the text. HTML is shown as its source. */
function MailView({ mail: { people, subject, bodies } }: { mail: Mail }) {
  const strings = useRequestStrings();
  const { level, expand } = useExpansion();
  const { values } = strings;
  const head = clipText(visible(subject), level);
  const names = people.map(([name, all]) => {
    const shown = level > 0 ? all : all.slice(0, recipients);
    return (
      <div key={name} data-testid={`mail-${name}`}>
        <dt>{values.mailNames[name] ?? visible(name)}</dt>
        <dd>
          {createElement("ul", { className: "mail-people" }, ...shown.map((one) => createElement("li", null, <MarkedText text={visible(one)} />)))}
          {shown.length < all.length && <MoreButton label={values.morePeople(all.length - shown.length)} onExpand={expand} />}
        </dd>
      </div>
    );
  });
  return (
    <div className="mail">
      <dl className="value-pairs">
        {names}
        <div data-testid="mail-subject">
          <dt>{values.mailNames.subject}</dt>
          <dd><strong><MarkedText text={head.text} /></strong>{head.hidden && <MoreButton label={values.moreOf(head.hidden)} onExpand={expand} />}</dd>
        </div>
      </dl>
      {bodies.map(([name, text]) => (
        <div key={name} data-testid={`mail-${name}`}>
          {bodies.length > 1 && <code className="quiet">{visible(name)}</code>}
          {/^html/.test(name) || /^\s*<(?:!doctype|html|body|div|p|table)\b/i.test(text) ? <CodeView text={text} language="markup" /> : <CodeView text={text} />}
        </div>
      ))}
    </div>
  );
}

const RowsTable = lazyWithRetry(() => import("./rows-table").then((module) => ({ default: module.RowsTable })));

interface ShapeViewProps {
  name: string;
  value: Json;
  shape: Shape;
}

/** A value drawn as its shape says. */
function ShapeView({ name, value, shape }: ShapeViewProps) {
  const text = typeof value === "string" ? value : "";
  switch (shape.kind) {
    case "text": return <CodeView text={text} />;
    case "code": return <CodeView text={text} language={shape.language} />;
    case "markdown": return <Prose text={text} />;
    case "diff": return <PatchView text={text} />;
    case "link": return <LinkCard url={shape.url} />;
    case "image": return <ImageView name={name} media={shape.media} data={shape.data} />;
    case "pdf": return <PdfView name={name} media={shape.media} data={shape.data} />;
    case "table": {
      const rows = Array.isArray(value) ? value.filter(isObject) : [];
      const cells = rows.map((row) => shape.columns.map((column) => row[column] ?? null));
      return <RowsTable isExact columns={shape.columns} rows={cells} />;
    }
    case "mail": {
      const mail = isObject(value) ? mailOf(value) : null;
      return mail ? <MailView mail={mail} /> : <JsonTree value={value} />;
    }
    case "tree": return <JsonTree value={value} />;
    case "plain": return <JsonValue value={value} />;
  }
}

interface ValueFigureProps {
  place: string;
  name: string;
  value: Json;
  shape: Shape;
  /** The title, if it is not the name. */
  title?: ReactNode;
}

/** A value as what it looks like, with a copy of it and its JSON one key away. */
export default function ValueFigure({ place, name, value, shape, title }: ValueFigureProps) {
  const { values } = useRequestStrings();
  const [isJson, setJson] = useState(false);
  const source = () => (typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return (
    <figure className="value-figure" data-testid={`${place}-${name}`} data-shape={shape.kind}>
      <figcaption>
        <span>{title ?? <code>{visible(name)}</code>} <span className="quiet">{values.shapes[shape.kind]}{shape.kind === "code" && shape.language !== "code" && ` · ${shape.language}`}</span></span>
        <span className="value-ways">
          <Button type="link" size="small" aria-pressed={isJson} onClick={() => setJson(!isJson)} data-testid="as-json">{isJson ? values.asShape : "JSON"}</Button>
          <Typography.Text copyable={{ text: source, tooltips: [values.copy, values.copied] }} />
        </span>
      </figcaption>
      {isJson ? <JsonValue value={value} /> : <ShapeView name={name} value={value} shape={shape} />}
    </figure>
  );
}
