import { createContext, type AriaAttributes } from "react";
import type { FormField, Json } from "../api/types";

export interface ControlProps {
  field: FormField;
  id: string;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
  disabled: boolean;
  aria: AriaAttributes;
  /** Start a text area with one line and let it grow. */
  compact?: boolean;
  /** Called on Enter in a one-line control. Text areas and lists use Enter themselves. */
  onEnter?: () => void;
}

/** The id of the request whose form is filled in; a form without a request takes no files. */
export const RequestIdContext = createContext<string | null>(null);

/** Return the ARIA attributes that name and describe a group; the states of a single input do not apply to it. */
export const groupAria = (aria: AriaAttributes) =>
  ({ "aria-labelledby": aria["aria-labelledby"], "aria-describedby": aria["aria-describedby"] });
