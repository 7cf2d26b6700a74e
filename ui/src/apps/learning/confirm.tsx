import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useKeys } from "../../base/keys";
import { useLearningStrings } from "./strings";

interface ConfirmProps {
  title: string;
  description: string;
  actionLabel: string;
  isPending: boolean;
  onConfirm: (reason: string) => void;
  onBack: () => void;
  testId: string;
}

/** The inline confirmation of a change, with an optional reason. */
export function Confirm({ title, description, actionLabel, isPending, onConfirm, onBack, testId }: ConfirmProps) {
  const strings = useLearningStrings();
  const id = useId();
  const [reason, type] = useState("");
  useKeys(title, [{ key: "Escape", label: strings.cancelChange, run: onBack, whileTyping: true }]);
  return (
    <section className="learn-ask" aria-label={title}>
      <strong>{title}</strong>
      <p className="quiet">{description}</p>
      <label htmlFor={id} className="quiet">{strings.reasonOptional}</label>
      <Input id={id} autoFocus value={reason} maxLength={2_000} onChange={(event) => type(event.target.value)} data-testid="change-reason" />
      <div className="button-bar">
        <Button type="primary" loading={isPending} onClick={() => onConfirm(reason.trim())} data-testid={testId}>{actionLabel}</Button>
        <Button disabled={isPending} onClick={onBack}>{strings.cancelChange}</Button>
      </div>
    </section>
  );
}
