import { Button, Form, Input, Select } from "antd";
import { useId, useState } from "react";
import { useMessages } from "../widgets/messages";
import { Labelled } from "./decide-bar";
import { useMove } from "./holding";
import { namesOf } from "./people";
import { Refused } from "./refused";
import type { Desk } from "./use-desk";
import { useWords } from "./words";

interface PassOnProps {
  desk: Desk;
  /** It was passed on, and this person does not see it any more. */
  onGone: (names: string) => void;
}

/** Give the request to another person or to groups: free text, because nobody lists the people here. */
export function PassOn({ desk, onGone }: PassOnProps) {
  const strings = useWords();
  const message = useMessages();
  const id = useId();
  const [person, setPerson] = useState("");
  const [groups, setGroups] = useState<string[]>([]);
  const isEmpty = !person.trim() && groups.length === 0;
  const move = useMove(desk.request, (request, isSeen) => {
    const names = namesOf(request, strings) ?? "";
    if (!isSeen) return onGone(names);
    desk.back();
    void message.success(strings.passedOn(names));
  });
  const pass = () => {
    if (isEmpty || move.isPending) return;
    const assignee = person.trim();
    move.mutate({ verb: "reassign", body: { ...(assignee && { assignee }), candidate_groups: groups } });
  };
  return (
    <>
      <div>{strings.passOnTitle}</div>
      <Form component={false} layout="vertical">
        <div className="two">
          <Form.Item label={strings.person} htmlFor={id}>
            <Input
              id={id} value={person} autoComplete="off" data-testid="pass-person"
              onChange={(event) => setPerson(event.target.value)}
              onPressEnter={(event) => {
                if (!event.nativeEvent.isComposing) pass();
              }}
            />
          </Form.Item>
          <Form.Item label={strings.groups} htmlFor={`${id}-groups`} extra={strings.groupsHint}>
            <Select
              id={`${id}-groups`} mode="tags" open={false} suffixIcon={null} tokenSeparators={[",", "、", "，"]}
              value={groups} data-testid="pass-groups"
              onChange={(given) => setGroups(given.map((one) => one.trim()).filter(Boolean))}
            />
          </Form.Item>
        </div>
      </Form>
      <Refused error={move.error} retry={pass} />
      <div className="bar">
        <Button type="primary" onClick={pass} disabled={isEmpty} loading={move.isPending} data-testid="confirm-pass">
          <Labelled label={strings.passOnNow} keyName="↵" />
        </Button>
        <Button onClick={desk.back} data-testid="back-to-decision">
          <Labelled label={strings.keepDeciding} keyName="esc" />
        </Button>
      </div>
    </>
  );
}
