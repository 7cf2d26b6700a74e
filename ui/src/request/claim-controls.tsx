import { AutoComplete, Button, Dropdown, Form, Select } from "antd";
import { useId, useState } from "react";
import { usePeople } from "../api/people";
import { useRequestStrings } from "../strings/use-request-strings";
import { useNarrow } from "../widgets/media";
import { useMessages } from "../widgets/messages";
import { clock } from "../widgets/time";
import { namesOf, useAssignment, type ClaimState } from "./assignment";
import { KeyLabel } from "../widgets/key-label";
import { RefusalAlert } from "./notices";
import type { DecisionFormState } from "./use-decision-form";
import { needsVotes } from "./voting";

interface ClaimControlsProps {
  form: DecisionFormState;
  claim: ClaimState;
}

/** On a phone, one button beside the decisions opens a menu. */
function ClaimMenu({ form, claim }: ClaimControlsProps) {
  const strings = useRequestStrings();
  const { claimant, pendingVerb } = claim;
  const until = claimant?.until && { key: "until", label: strings.ownClaimNotice(clock(claimant.until, strings.language)), disabled: true };
  const items = [
    ...(until ? [until] : []),
    !needsVotes(form.request) && (claimant
      ? { key: "release", label: strings.release, onClick: claim.release, "data-testid": "release" }
      : { key: "claim", label: strings.claim, onClick: claim.claim, "data-testid": "claim" }),
    form.canGrant && { key: "grant", label: strings.granting.open, onClick: () => form.startGrant(false), "data-testid": "open-grant" },
    { key: "pass", label: strings.reassign, onClick: () => form.change({ mode: "reassigning" }), "data-testid": "reassign" },
  ].filter((item) => item !== false);
  return (
    <Dropdown menu={{ items }} trigger={["click"]} placement="topRight" autoFocus disabled={form.isLocked}>
      <Button className="more-actions" aria-label={strings.moreActions} title={strings.moreActions} loading={pendingVerb !== null} data-testid="more-actions">
        <span aria-hidden>⋯</span>
      </Button>
    </Dropdown>
  );
}

function ClaimButtons({ form, claim }: ClaimControlsProps) {
  const strings = useRequestStrings();
  const { claimant, pendingVerb } = claim;
  const common = { type: "text", disabled: form.isLocked } as const;
  const { language } = strings;
  return (
    <div className="claim-controls">
      {claimant?.until && (
        <span className="quiet" data-testid="claimed-by-you">{strings.ownClaimNotice(clock(claimant.until, language))}</span>
      )}
      {needsVotes(form.request) ? null : claimant ? (
        <Button
          {...common} loading={pendingVerb === "release"} onClick={claim.release} aria-keyshortcuts="u" data-testid="release"
        >
          <KeyLabel label={strings.release} keyName="u" />
        </Button>
      ) : (
        <Button {...common} loading={pendingVerb === "claim"} onClick={claim.claim} data-testid="claim" aria-keyshortcuts="c">
          <KeyLabel label={strings.claim} keyName="c" />
        </Button>
      )}
      <Button {...common} onClick={() => form.change({ mode: "reassigning" })} data-testid="reassign">
        {strings.reassign}
      </Button>
      {form.canGrant && (
        <Button {...common} onClick={() => form.startGrant(false)} data-testid="open-grant">{strings.granting.open}</Button>
      )}
    </div>
  );
}

/** Claim, release and reassign: the actions that are not decisions. */
export function ClaimControls({ form, claim }: ClaimControlsProps) {
  const isNarrow = useNarrow();
  if (form.isClosed || form.blockedReason !== null) return null;
  return isNarrow ? <ClaimMenu form={form} claim={claim} /> : <ClaimButtons form={form} claim={claim} />;
}

interface ReassignFormProps {
  form: DecisionFormState;
  /** Called when the request was reassigned and this person can no longer see it. */
  onReassigned: (names: string) => void;
}

/** Reassign the request to a person or to groups. The server knows those on other requests; any other name can be typed. */
export function ReassignForm({ form, onReassigned }: ReassignFormProps) {
  const strings = useRequestStrings();
  const message = useMessages();
  const id = useId();
  const [person, setPerson] = useState("");
  const [groups, setGroups] = useState<string[]>([]);
  const [isOpen, setOpen] = useState(false);
  // An open list without an active option leaves Enter to the typed name.
  const [active, setActive] = useState<unknown>(null);
  const known = usePeople(person.trim()).data;
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
            <AutoComplete
              id={id} value={person} options={known?.people ?? []} defaultActiveFirstOption={false} data-testid="reassign-person"
              onOpenChange={setOpen} onActive={setActive}
              onChange={(typed) => { setPerson(typed); setActive(null); }}
              onInputKeyDown={(event) => {
                const isPicking = isOpen && active !== null;
                if (event.key === "Enter" && !isPicking) reassign();
              }}
            />
          </Form.Item>
          <Form.Item label={strings.groups} htmlFor={`${id}-groups`} extra={strings.groupsHint}>
            <Select
              id={`${id}-groups`} mode="tags" options={known?.groups ?? []} suffixIcon={null} tokenSeparators={[",", "、", "，"]}
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
