import { Button, Input } from "antd";
import { useId } from "react";
import type { Decision, Request } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import { editableOf } from "./values";
import { DecideButton } from "./decide-bar";

interface ConfirmProps {
  request: Request;
  dead: boolean;
  sending: Decision | null;
  onBack: () => void;
  onConfirm: () => void;
}

/** The last step of an edit; the editors stand among the facts above. */
export function ConfirmEdit({ request, dead, changed, sending, onBack, onConfirm }: ConfirmProps & { changed: boolean }) {
  const strings = useStrings();
  return (
    <>
      <p className="quiet">{request.action ? strings.editing : strings.editingTask}</p>
      <div className="bar">
        <DecideButton
          request={request} decision="edit" testId="confirm-edit" label={strings.confirmEdit} solid
          disabled={dead || !changed || !editableOf(request)} title={changed ? undefined : strings.editNeedsChange}
          sending={sending} onClick={onConfirm}
        />
        <Button onClick={onBack} disabled={sending !== null} data-testid="back-to-decision">{strings.keepDeciding}</Button>
      </div>
    </>
  );
}

interface ConfirmRejectProps extends ConfirmProps {
  reason: string;
  onReason: (reason: string) => void;
  error: string | undefined;
}

export function ConfirmReject(props: ConfirmRejectProps) {
  const { request, dead, sending, onBack, onConfirm, reason, onReason, error } = props;
  const strings = useStrings();
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{strings.rejectReason}</label>
      <Input.TextArea
        id={id} autoFocus value={reason} autoSize={{ minRows: 2, maxRows: 8 }} disabled={dead} data-testid="reject-reason"
        status={error ? "error" : ""} onChange={(event) => onReason(event.target.value)}
      />
      {error && <div role="alert" className="error-text" data-testid="field-error">{visible(error)}</div>}
      <div className="bar">
        <DecideButton
          request={request} decision="reject" testId="confirm-reject" solid disabled={dead} sending={sending} onClick={onConfirm}
        />
        <Button onClick={onBack} disabled={sending !== null} data-testid="back-to-decision">{strings.keepDeciding}</Button>
      </div>
    </>
  );
}
