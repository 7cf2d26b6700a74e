import { Button } from "antd";
import type { ActionLook, Decision, Request } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";

interface DecideButtonProps {
  request: Request;
  decision: Decision;
  testId: string;
  label?: string;
  solid?: boolean;
  disabled: boolean;
  title?: string | undefined;
  sending: Decision | null;
  onClick: () => void;
}

function look(decision: Decision, style: ActionLook["style"], solid: boolean) {
  if (style === "danger" || (decision === "reject" && !style)) return { danger: true, type: solid ? "primary" : "default" } as const;
  const primary = style ? style === "primary" : decision === "approve" || decision === "respond";
  return { type: primary || solid ? "primary" : "default" } as const;
}

/** One decision's button, with the label and style that the request gives it. */
export function DecideButton(props: DecideButtonProps) {
  const { request, decision, testId, label, solid, disabled, title, sending, onClick } = props;
  const strings = useStrings();
  const given = request.actions?.[decision];
  const mine = sending === decision;
  const text = label ?? (given?.label ? visible(given.label) : strings.decisions[decision]);
  return (
    <Button
      {...look(decision, given?.style, solid ?? false)}
      data-testid={testId}
      title={title}
      loading={mine}
      disabled={disabled || (sending !== null && !mine)}
      // The next request may open under the pointer: the second half of a double-click must not decide it.
      onClick={(event) => event.detail < 2 && onClick()}
    >
      {mine ? strings.sending : text}
    </Button>
  );
}

interface DecideBarProps {
  request: Request;
  dead: boolean;
  changed: boolean;
  opensEditor: boolean;
  sending: Decision | null;
  onDecide: (decision: Decision) => void;
  onEdit: () => void;
  onReject: () => void;
}

export function DecideBar({ request, dead, changed, opensEditor, sending, onDecide, onEdit, onReject }: DecideBarProps) {
  const strings = useStrings();
  const waitsForChange = !opensEditor && !changed;
  const clicks: Record<Decision, () => void> = {
    approve: () => onDecide("approve"),
    respond: () => onDecide("respond"),
    edit: opensEditor ? onEdit : () => onDecide("edit"),
    reject: onReject,
  };
  return (
    <div className="bar">
      {request.allowed.map((decision) => (
        <DecideButton
          key={decision}
          request={request}
          decision={decision}
          testId={`decide-${decision}`}
          disabled={dead || (decision === "edit" && waitsForChange)}
          title={decision === "edit" && waitsForChange ? strings.editNeedsChange : undefined}
          sending={sending}
          onClick={clicks[decision]}
        />
      ))}
    </div>
  );
}
