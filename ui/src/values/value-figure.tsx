import { Button, Typography } from "antd";
import { useState, type ReactNode } from "react";
import type { Json } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/agent-text";
import { visible } from "../base/visible";
import type { Shape } from "./shape";
import { ShapeView } from "./shape-view";
import "./values.css";

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
