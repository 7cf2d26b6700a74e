import { Suspense, useId, useState } from "react";
import type { FieldProblem } from "../api/call";
import { type FormField, type Json, isEqual } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { HiddenCharacters } from "../widgets/hidden-characters";
import { lazyWithRetry } from "../base/browser";
import { Loading } from "../widgets/loading";
import { visible } from "../base/visible";
import { Control } from "./controls";
import { FieldError } from "./field-error";
import { hintOf } from "./field";
import { isUnread } from "./number-text";
import { ValueDiffLine } from "./value-diff-line";
import type { Schema } from "./schema";
import { messageWithin } from "./values";

const SchemaEditor = lazyWithRetry(() => import("./schema-editor"));

interface ValueEditorProps {
  name: string;
  /** The control that fits; null for a value with parts, which is edited by its schema. */
  field: FormField | null;
  schema: Schema;
  /** The schema with the definitions. */
  root: Schema;
  /** The place of the value as the server names it. */
  path: string;
  problems: FieldProblem[];
  before: Json;
  value: Json | undefined;
  broken: string | undefined;
  onChange: (value: Json | undefined, broken?: string) => void;
  onEnter: () => void;
  error: string | undefined;
  disabled: boolean;
}

/** The editor of one value, with its difference and a reset button. */
export function ValueEditor(props: ValueEditorProps) {
  const { name, field, schema, root, path, before, value, broken, problems, onChange, onEnter, error, disabled } = props;
  const strings = useRequestStrings();
  const id = useId();
  const [resets, setResets] = useState(0);
  const isInvalid = problems.some((problem) => problem.field === path);
  const hint = field && hintOf(field, strings);
  const aria = {
    "aria-labelledby": `${id}-label`,
    "aria-invalid": Boolean(error) || value === undefined,
    "aria-describedby": [error && `${id}-error`, hint && `${id}-help`].filter(Boolean).join(" ") || undefined,
  };
  const reset = () => {
    onChange(before);
    setResets(resets + 1);
  };
  return (
    <div className="value-editor" data-testid={`arg-${name}`} data-invalid={field ? Boolean(error) : isInvalid}>
      {field && <label htmlFor={id} id={`${id}-label`} className="visually-hidden">{visible(name)}</label>}
      {field
        ? (
          <Control
            key={resets} field={field} id={id} value={broken === undefined ? value : { unread: broken }} disabled={disabled} aria={aria}
            onChange={(next) => (field.type === "number" && isUnread(next) ? onChange(undefined, next.unread) : onChange(next))} compact onEnter={onEnter}
          />
        )
        : (
          <Suspense fallback={<Loading paragraph={{ rows: 3 }} />}>
            <SchemaEditor
              key={resets} id={id} name={name} schema={schema} root={root} path={path} value={value} broken={broken} problems={problems} disabled={disabled} onChange={onChange}
              onBreak={(text) => onChange(value, text)}
            />
          </Suspense>
        )}
      {hint && <div id={`${id}-help`} className="quiet">{hint}</div>}
      {typeof value === "string" && <HiddenCharacters text={value} />}
      {(broken !== undefined || !isEqual(before, value)) && (
        <ValueDiffLine
          name={name} before={before} after={broken === undefined ? value : undefined}
          onReset={reset} disabled={disabled}
        />
      )}
      <FieldError id={`${id}-error`} error={field ? error : messageWithin(problems, path)} />
    </div>
  );
}
