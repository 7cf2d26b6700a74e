import { Button, Input } from "antd";
import { useId, useState } from "react";
import { useKeys } from "../widgets/keys";
import { useLearningWords } from "./words";

interface ConfirmProps {
  title: string;
  means: string;
  act: string;
  isPending: boolean;
  onConfirm: (reason: string) => void;
  onBack: () => void;
  testId: string;
}

/** The last step before something changes, in place, with room to say why. */
export function Confirm({ title, means, act, isPending, onConfirm, onBack, testId }: ConfirmProps) {
  const words = useLearningWords();
  const id = useId();
  const [reason, type] = useState("");
  useKeys(title, [{ key: "Escape", label: words.keepIt, run: onBack, whileTyping: true }]);
  return (
    <section className="learn-ask" aria-label={title}>
      <strong>{title}</strong>
      <p className="quiet">{means}</p>
      <label htmlFor={id} className="quiet">{words.reasonOptional}</label>
      <Input id={id} autoFocus value={reason} maxLength={2_000} onChange={(event) => type(event.target.value)} data-testid="change-reason" />
      <div className="button-bar">
        <Button type="primary" loading={isPending} onClick={() => onConfirm(reason.trim())} data-testid={testId}>{act}</Button>
        <Button disabled={isPending} onClick={onBack}>{words.keepIt}</Button>
      </div>
    </section>
  );
}
