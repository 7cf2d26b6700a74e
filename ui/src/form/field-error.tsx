import { visible } from "../base/visible";

/** The error of a field, linked to it by id. */
export function FieldError({ id, error }: { id: string; error: string | undefined }) {
  if (!error) return null;
  return <div id={id} role="alert" className="error-text" data-testid="field-error">{visible(error)}</div>;
}
