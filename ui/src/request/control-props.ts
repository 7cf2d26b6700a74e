import type { AriaAttributes } from "react";
import type { FormField, Json } from "../api/types";

export interface ControlProps {
  field: FormField;
  id: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  disabled: boolean;
  aria: AriaAttributes;
  /** A text begins with one line and grows. */
  compact?: boolean;
  /** Enter in a one-line control; in a text it is a new line, in a list it chooses. */
  onEnter?: () => void;
}

/** What names and describes a group; the states of a single input mean nothing on it. */
export const ofGroup = (aria: AriaAttributes) =>
  ({ "aria-labelledby": aria["aria-labelledby"], "aria-describedby": aria["aria-describedby"] });
