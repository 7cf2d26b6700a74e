import type { Json } from "../api/types";
import { isObject } from "../api/json";
import { Prose } from "./prose";
import { JsonValue } from "../widgets/agent-text";
import { lazyWithRetry } from "../base/lazy";
import { CodeView } from "./code-view";
import { JsonTree } from "./json-tree";
import { LinkCard } from "./link-card";
import { MailView } from "./mail-view";
import { ImageView, PdfView } from "./media";
import { PatchView } from "./patch-view";
import { mailOf, type Shape } from "./shape";

const RowsTable = lazyWithRetry(() => import("./rows-table").then((module) => ({ default: module.RowsTable })));

interface ShapeViewProps {
  name: string;
  value: Json;
  shape: Shape;
}

/** A value drawn as its shape says. */
export function ShapeView({ name, value, shape }: ShapeViewProps) {
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
