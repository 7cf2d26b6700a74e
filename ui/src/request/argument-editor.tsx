import type { FieldProblem } from "../api/call";
import type { Json, Request } from "../api/types";
import { editSchemaOf, fieldOfArgument, schemaOfArgument } from "../form/schema-field";
import { ValueEditor } from "../form/value-editor";
import { messageAt } from "../form/values";
import { shapeOf } from "../values/shape";
import { editKey, type Draft } from "./draft";

export interface EditingState {
  draft: Draft;
  onChange: (change: Partial<Draft>, changed: string) => void;
  onEnter: () => void;
  problems: FieldProblem[];
  disabled: boolean;
}

interface ArgumentEditorProps {
  request: Request;
  name: string;
  before: Json;
  editing: EditingState;
}

/** The editor of one argument. */
export function ArgumentEditor({ request, name, before, editing }: ArgumentEditorProps) {
  const { draft, onChange, onEnter, problems, disabled } = editing;
  const key = editKey(request, name);
  const root = request.action?.schema ?? {};
  const { kind } = shapeOf(name, before, schemaOfArgument(root, name));
  return (
    <div className={kind === "code" || kind === "diff" ? "code-editor" : undefined}><ValueEditor
      name={name}
      field={fieldOfArgument(root, name, before)}
      schema={editSchemaOf(root, name, before)}
      root={root}
      path={key}
      problems={problems}
      before={before}
      value={draft.edited[name]}
      broken={draft.broken[key]}
      onChange={(value, text) => {
        const { [key]: _mended, ...rest } = draft.broken;
        const broken = text === undefined ? rest : { ...rest, [key]: text };
        onChange({ edited: { ...draft.edited, [name]: value }, broken }, key);
      }}
      onEnter={onEnter}
      disabled={disabled}
      error={messageAt(problems, key)}
    /></div>
  );
}
