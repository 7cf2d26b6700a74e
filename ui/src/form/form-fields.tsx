import { Form } from "antd";
import type { FieldProblem } from "../api/call";
import type { FormField } from "../api/types";
import { messageAt, type Values } from "./values";
import "./form.css";
import { Field } from "./field";

interface FormFieldsProps {
  fields: FormField[];
  values: Values;
  onChange: (values: Values, changed: string) => void;
  problems: FieldProblem[];
  disabled: boolean;
  /** Show the difference from prefilled values, each with a reset button. */
  diff?: boolean;
}

export function FormFields({ fields, values, onChange, problems, disabled, diff = false }: FormFieldsProps) {
  return (
    <Form component={false} layout="vertical">
      {fields.map((field) => (
        <Field
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => onChange({ ...values, [field.name]: value }, field.name)}
          error={messageAt(problems, field.name)}
          disabled={disabled}
          diff={diff}
        />
      ))}
    </Form>
  );
}
