import { Alert, Button, Flex } from "antd";
import { isStatus, type ProblemError } from "../api/call";
import { useStrings } from "../strings";
import { visible } from "../base/visible";

/** Return whether the server refused nothing but names that nobody here has. */
export const isAboutUnknownNames = (error: Error | null): error is ProblemError =>
  isStatus(error, 422) && error.errors.length > 0 && error.errors.every(({ code }) => code === "unknown_name");

interface UnknownNamesProps {
  error: ProblemError;
  names: string[];
  /** The field of the person, for whom the nearest name is offered. */
  field: string;
  /** What taking the names would mean. */
  consequence: string;
  confirmLabel: string;
  onUse: (name: string) => void;
  onConfirm: () => void;
}

/** Ask about names that nobody here has: the nearest one, or these all the same. */
export function UnknownNames({ error, names, field, consequence, confirmLabel, onUse, onConfirm }: UnknownNamesProps) {
  const { unknownNames } = useStrings();
  const nearest = error.errors.find((fault) => fault.field === field)?.params["nearest"];
  return (
    <Alert
      type="warning" showIcon role="alert" data-testid="unknown-names" title={unknownNames.title(names.map(visible).join(", "))}
      description={
        <>
          <p>{consequence}</p>
          {/* Below the words, which a narrow menu would otherwise break at each letter. */}
          <Flex wrap gap="small">
            {typeof nearest === "string" && <Button size="small" onClick={() => onUse(nearest)} data-testid="use-nearest">{unknownNames.use(visible(nearest))}</Button>}
            <Button size="small" danger onClick={onConfirm} data-testid="take-unknown">{confirmLabel}</Button>
          </Flex>
        </>
      }
    />
  );
}
