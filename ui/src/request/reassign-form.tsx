import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Button, AutoComplete, Form, Select } from "antd";
import { useId, useState } from "react";
import { call, type ProblemError } from "../api/call";
import type { People } from "../api/types";
import { KeyLabel } from "../base/keys";
import { visible } from "../base/visible";
import { useRequestStrings } from "../strings/detail";
import { useMessages } from "../widgets/messages";
import { namesOf } from "../widgets/names";
import { isAboutUnknownNames, UnknownNames } from "../widgets/unknown-names";
import { useAssignment } from "./assignment";
import { RefusalAlert } from "./refusal-alert";
import type { DecisionFormState } from "./use-decision-form";
import { TakeBack } from "./take-back";

const toOptions = (names: readonly string[]) => names.map((value) => ({ value, label: visible(value) }));
const toLists = ({ people, groups }: People) => ({ people: toOptions(people), groups: toOptions(groups) });

/**
 * The people and groups whose names contain a text, as options; only those on requests that the person can see.
 *
 * Equal options stay the same objects, so that an open list keeps its active option.
 */
const usePeople = (part: string) => useQuery({
  queryKey: ["people", part], placeholderData: keepPreviousData, select: toLists,
  queryFn: () => call<People>("GET", `/v1/people?q=${encodeURIComponent(part)}`),
});

interface ReassignFormProps {
  form: DecisionFormState;
  /** Called when the request was reassigned and this person can no longer see it. */
  onReassigned: (names: string) => void;
}

/** Reassign the request to a person or to groups. Enter takes the first name on offer; one that nobody has is asked about. */
export function ReassignForm({ form, onReassigned }: ReassignFormProps) {
  const strings = useRequestStrings();
  const message = useMessages();
  const id = useId();
  const [person, setPerson] = useState("");
  const [groups, setGroups] = useState<string[]>([]);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState<string | null>(null);
  const typed = person.trim();
  const { data: known, isPlaceholderData } = usePeople(typed);
  // Until the reply, the names of the shorter text are here: one that goes then would take the active option with it.
  const offered = known?.people.filter(({ value }) => !isPlaceholderData || value.toLowerCase().includes(typed.toLowerCase()));
  // The list offers the first name that begins with the text: the name itself goes before longer ones.
  const people = (offered ?? []).toSorted((a, b) => Number(b.value === typed) - Number(a.value === typed));
  const isEmpty = !typed && groups.length === 0;
  const assignment = useAssignment(form.request, (request, isSeen) => {
    const names = namesOf(request, strings) ?? "";
    if (!isSeen) return onReassigned(names);
    form.back();
    const close = () => message.destroy(request.id);
    void message.success({ key: request.id, duration: 10, content: <>{strings.reassignedTo(names)} <TakeBack id={request.id} onDone={close} /></> });
  });
  const reassign = (more: { unknown?: true } = {}) => {
    if (isEmpty || assignment.isPending) return;
    assignment.mutate({ verb: "reassign", body: { ...(typed && { assignee: typed }), groups, ...more } });
  };
  const unknownIn = (error: ProblemError) => {
    const isUnknown = (field: string) => error.errors.some((fault) => fault.field === field);
    const [noPerson, noGroups] = [isUnknown("assignee"), groups.filter((_, n) => isUnknown(`groups.${n}`))];
    const seeing = namesOf({ assignee: noPerson ? null : typed, groups: groups.filter((group) => !noGroups.includes(group)) }, strings);
    return { names: [...(noPerson ? [typed] : []), ...noGroups], consequence: seeing ? strings.seenByKnown(seeing) : strings.seenByAdministrators };
  };
  const change = (name: string) => {
    setPerson(name);
    setActive(null);
    assignment.reset();
  };
  const take = () => {
    const first = typed ? people[0]?.value : undefined;
    const pick = isOpen ? active ?? first : undefined;
    if (pick === undefined || pick === typed) return reassign();
    change(pick);
  };
  return (
    <>
      <div>{strings.reassignTitle}</div>
      <Form component={false} layout="vertical">
        <div className="two-columns">
          <Form.Item label={strings.person} htmlFor={id}>
            <AutoComplete
              id={id} value={person} options={people} defaultActiveFirstOption={false} data-testid="reassign-person"
              onOpenChange={setOpen} onActive={setActive} onChange={change}
              onInputKeyDown={(event) => event.key === "Enter" && take()}
            />
          </Form.Item>
          <Form.Item label={strings.groups} htmlFor={`${id}-groups`} extra={strings.groupsHint}>
            <Select
              id={`${id}-groups`} mode="tags" options={known?.groups ?? []} suffixIcon={null} tokenSeparators={[",", "、", "，"]}
              value={groups} data-testid="reassign-groups"
              onChange={(entered) => {
                setGroups(entered.map((one) => one.trim()).filter(Boolean));
                assignment.reset();
              }}
            />
          </Form.Item>
        </div>
      </Form>
      {isAboutUnknownNames(assignment.error)
        ? (
          <UnknownNames
            error={assignment.error} field="assignee" {...unknownIn(assignment.error)}
            confirmLabel={strings.reassignUnknown} onUse={change} onConfirm={() => reassign({ unknown: true })}
          />
        )
        : <RefusalAlert error={assignment.error} retry={() => reassign()} />}
      <div className="button-bar">
        <Button type="primary" onClick={() => reassign()} disabled={isEmpty} loading={assignment.isPending} data-testid="confirm-reassign">
          <KeyLabel label={strings.confirmReassign} keyName="↵" />
        </Button>
        <Button onClick={form.back} data-testid="back-to-decision">
          <KeyLabel label={strings.backToDecision} keyName="esc" />
        </Button>
      </div>
    </>
  );
}
