import { Input } from "antd";

interface MomentInputProps {
  id: string;
  /** Receives the time as RFC 3339; undefined while none is complete. */
  onChange: (at: string | undefined) => void;
  testId: string;
}

/** A date and time of this browser's time zone. The browser's own control also fits a phone. */
export function MomentInput({ id, onChange, testId }: MomentInputProps) {
  return (
    <Input
      id={id} type="datetime-local" className="wide" data-testid={testId}
      onChange={({ target: { value } }) => onChange(value ? new Date(value).toISOString() : undefined)}
    />
  );
}
