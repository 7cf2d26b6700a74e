import { visible } from "../widgets/visible";

/** What is wrong with a field, bound to it by the id. */
export function FieldError({ id, error }: { id: string; error: string | undefined }) {
  if (!error) return null;
  return <div id={id} role="alert" className="error-text" data-testid="field-error">{visible(error)}</div>;
}
