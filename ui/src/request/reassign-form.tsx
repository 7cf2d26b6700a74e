import { Button, Form, Input, Select } from "antd";
import { useId, useState } from "react";
import { useRequestStrings } from "../strings/use-request-strings";
import { useMessages } from "../widgets/messages";
import { namesOf, useAssignment } from "./assignment";
import { KeyLabel } from "./decide-bar";
import { RefusalAlert } from "./refusal-alert";
import type { DecisionFormState } from "./use-decision-form";

interface ReassignFormProps {
  form: DecisionFormState;
  /** Called when the request was reassigned and this person can no longer see it. */
  onReassigned: (names: string) => void;
}

/** Reassign the request to a person or to groups. Names are free text, because the server lists no people. */
export function ReassignForm({ form, onReassigned }: ReassignFormProps) {
  const strings = useRequestStrings();
  const message = useMessages();
  const id = useId();
  const [person, setPerson] = useState("");
  const [groups, setGroups] = useState<string[]>([]);
  const isEmpty = !person.trim() && groups.length === 0;
  const assignment = useAssignment(form.request, (request, isSeen) => {
    const names = namesOf(request, strings) ?? "";
    if (!isSeen) return onReassigned(names);
    form.back();
    void message.success(strings.reassignedTo(names));
  });
  const reassign = () => {
    if (isEmpty || assignment.isPending) return;
    const assignee = person.trim();
    assignment.mutate({ verb: "reassign", body: { ...(assignee && { assignee }), candidate_groups: groups } });
  };
  return (
    <>
      <div>{strings.reassignTitle}</div>
      <Form component={false} layout="vertical">
        <div className="two-columns">
          <Form.Item label={strings.person} htmlFor={id}>
            <Input
              id={id} value={person} autoComplete="off" data-testid="reassign-person"
              onChange={(event) => setPerson(event.target.value)}
              onPressEnter={(event) => {
                if (!event.nativeEvent.isComposing) reassign();
              }}
            />
          </Form.Item>
          <Form.Item label={strings.groups} htmlFor={`${id}-groups`} extra={strings.groupsHint}>
            <Select
              id={`${id}-groups`} mode="tags" open={false} suffixIcon={null} tokenSeparators={[",", "、", "，"]}
              value={groups} data-testid="reassign-groups"
              onChange={(entered) => setGroups(entered.map((one) => one.trim()).filter(Boolean))}
            />
          </Form.Item>
        </div>
      </Form>
      <RefusalAlert error={assignment.error} retry={reassign} />
      <div className="button-bar">
        <Button type="primary" onClick={reassign} disabled={isEmpty} loading={assignment.isPending} data-testid="confirm-reassign">
          <KeyLabel label={strings.confirmReassign} keyName="↵" />
        </Button>
        <Button onClick={form.back} data-testid="back-to-decision">
          <KeyLabel label={strings.backToDecision} keyName="esc" />
        </Button>
      </div>
    </>
  );
}
