import { useQueryClient } from "@tanstack/react-query";
import { Button, Input, Drawer, Switch } from "antd";
import { useId, useState } from "react";
import { useAway, useLeave } from "../api/absences";
import { signOut } from "../api/session";
import type { Session } from "../api/types";
import { go } from "../base/router";
import { visible } from "../base/visible";
import { useStrings } from "../strings";
import { useMessages } from "../widgets/messages";
import { MomentInput } from "../widgets/moment-input";
import { Problem, explain } from "../widgets/problem";
import { clock } from "../widgets/time";
import { isAboutUnknownNames, UnknownNames } from "../widgets/unknown-names";
import { BackButton } from "./come-back-button";
import { canNotify, useNotificationPreference } from "./notifications";
import { PreferenceSelect } from "./preference-select";

function AbsenceForm({ onBack }: { onBack: () => void }) {
  const { away, back } = useStrings();
  const id = useId();
  const leave = useLeave();
  const [deputy, setDeputy] = useState("");
  const [until, setUntil] = useState<string>();
  const name = deputy.trim();
  const save = (more: { unknown?: true } = {}) => {
    if (name && until !== undefined && !leave.isPending) leave.mutate({ deputy: name, until, ...more }, { onSuccess: onBack });
  };
  const change = (typed: string) => {
    setDeputy(typed);
    leave.reset();
  };
  return (
    <form
      className="menu-ask" aria-label={away.title} noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <p className="quiet">{away.hint}</p>
      <label htmlFor={`${id}-deputy`}>{away.deputyName}</label>
      <Input id={`${id}-deputy`} value={deputy} autoFocus autoComplete="off" data-testid="away-deputy" onChange={(event) => change(event.target.value)} />
      <label htmlFor={`${id}-until`}>{away.untilLabel}</label>
      <MomentInput id={`${id}-until`} onChange={setUntil} testId="away-until" />
      {isAboutUnknownNames(leave.error)
        ? (
          <UnknownNames
            error={leave.error} field="deputy" names={[name]} consequence={away.nobodyElse}
            confirmLabel={away.saveUnknown} onUse={change} onConfirm={() => save({ unknown: true })}
          />
        )
        : <Problem error={leave.error} />}
      <Button block type="primary" htmlType="submit" disabled={!name || until === undefined} loading={leave.isPending} data-testid="leave">{away.save}</Button>
      <Button block onClick={onBack}>{back}</Button>
    </form>
  );
}

/** The person's own absence in their menu, and the people for whom they stand. */
export function AbsenceSettings() {
  const strings = useStrings();
  const { away, language } = strings;
  const { data } = useAway();
  const [isOpen, setOpen] = useState(false);
  if (!data) return null;
  return (
    <>
      {data.deputy_for.map(({ person, until }) => <p key={person} className="quiet">{away.standsIn(visible(person), clock(until, language))}</p>)}
      {data.absence && <p>{away.until(clock(data.absence.until, language), visible(data.absence.deputy))}</p>}
      {data.absence && <BackButton />}
      {isOpen ? <AbsenceForm onBack={() => setOpen(false)} />
        : !data.absence && <Button block onClick={() => setOpen(true)} data-testid="open-away">{away.open}</Button>}
    </>
  );
}

/** The notification setting; the browser is asked for permission only when it is switched on. */
function NotificationSwitch() {
  const strings = useStrings();
  const id = useId();
  const [isEnabled, setEnabled] = useNotificationPreference();
  const [refused, setRefused] = useState(false);
  const change = (on: boolean) => void setEnabled(on).then((answer) => setRefused(answer === "refused"));
  const why = canNotify() ? refused && strings.notificationsRefused : strings.notificationsUnavailable;
  return (
    <div className="menu-row">
      <label htmlFor={id}>{strings.notifications}</label>
      <Switch id={id} checked={isEnabled} disabled={!canNotify()} onChange={change} data-testid="notifications" />
      <output className="quiet">{why}</output>
    </div>
  );
}

/** Sign out here or everywhere; the latter asks for confirmation in place. */
function SignOutButtons() {
  const strings = useStrings();
  const client = useQueryClient();
  const message = useMessages();
  const [isConfirming, setConfirming] = useState(false);
  const leave = (everywhere: boolean) =>
    void signOut(client, everywhere).catch((error: unknown) => void message.error(explain(error, strings)));
  if (!isConfirming) {
    return (
      <>
        <Button block onClick={() => leave(false)} data-testid="sign-out">{strings.signOut}</Button>
        <Button block onClick={() => setConfirming(true)} data-testid="sign-out-everywhere">{strings.signOutEverywhere}</Button>
      </>
    );
  }
  return (
    <section className="menu-ask" aria-label={strings.signOutEverywhere} data-testid="confirm-everywhere-panel">
      <p>{strings.signOutEverywhereWarning}</p>
      <Button block danger type="primary" onClick={() => leave(true)} data-testid="confirm-everywhere">
        {strings.signOutEverywhere}
      </Button>
      <Button block autoFocus onClick={() => setConfirming(false)} data-testid="keep-everywhere">{strings.back}</Button>
    </section>
  );
}

interface MenuProps {
  session: Session;
  onClose: () => void;
  onHelp: () => void;
}

/** The menu of the signed-in person. */
export default function Menu({ session, onClose, onHelp }: MenuProps) {
  const strings = useStrings();
  const openGrants = () => {
    onClose();
    go("/grants");
  };
  return (
    <Drawer open title={visible(session.name)} onClose={onClose} size={320} data-testid="menu">
      <div className="menu">
        <div className="menu-row"><span>{strings.languageLabel}</span><PreferenceSelect of="language" /></div>
        <div className="menu-row"><span>{strings.theme}</span><PreferenceSelect of="theme" /></div>
        <NotificationSwitch />
        <AbsenceSettings />
        <Button block onClick={openGrants} data-testid="open-grants">{strings.grantsPage}</Button>
        <Button block onClick={onHelp} data-testid="open-help">{strings.keyboard}</Button>
        <SignOutButtons />
      </div>
    </Drawer>
  );
}
