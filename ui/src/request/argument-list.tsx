import { Descriptions } from "antd";
import type { Json, JsonObject } from "../api/types";
import { schemaOfArgument } from "../form/schema-field";
import { useRequestStrings } from "../strings/detail";
import { JsonValue } from "../widgets/json-value";
import { MarkedText } from "../widgets/marked-text";
import { lazyWithRetry } from "../base/browser";
import { visible } from "../base/visible";
import { mailNames, mailOf, shapeOf, type Shape } from "../values/shape";

const ValueFigure = lazyWithRetry(() => import("../values/value-figure"));

const plainShape: Shape = { kind: "plain" };

interface ArgumentListProps {
  args: JsonObject;
  schema: JsonObject | null | undefined;
  /** Show the arguments as JSON, because they stand above as what they look like. */
  isRaw?: boolean;
  /** The beginning of the test ids of the values. */
  place?: string;
}

/** The arguments of a call: short ones in rows, the others as what they look like; each stands here once. */
export function ArgumentList({ args, schema, isRaw = false, place = "fact" }: ArgumentListProps) {
  const { values } = useRequestStrings();
  const mail = isRaw ? null : mailOf(args);
  const inMail = mail ? mailNames(mail) : new Set<string>();
  const parts = Object.entries(args).filter(([name]) => !inMail.has(name))
    .map(([name, value]) => ({ name, value, shape: isRaw ? plainShape : shapeOf(name, value, schemaOfArgument(schema, name)) }));
  const plain = parts.filter(({ shape }) => shape.kind === "plain");
  const ofMail = Object.fromEntries(Object.entries(args).filter(([name]) => inMail.has(name)));
  const row = (name: string, value: Json) => ({ key: name, label: <code><MarkedText text={visible(name)} /></code>, children: <JsonValue value={value} testId={`${place}-${name}`} /> });
  return (
    <div className="argument-list">
      {mail && <ValueFigure place={place} name="mail" title={values.mail} value={ofMail} shape={{ kind: "mail" }} />}
      {plain.length > 0 && <Descriptions bordered size="small" column={1} items={plain.map(({ name, value }) => row(name, value))} className="facts" />}
      {parts.filter(({ shape }) => shape.kind !== "plain").map((part) => <ValueFigure key={part.name} place={place} {...part} />)}
    </div>
  );
}
