import { useQueryClient } from "@tanstack/react-query";
import { Button, Drawer, Switch } from "antd";
import { useId, useState } from "react";
import { signOut } from "../api/session";
import type { Session } from "../api/types";
import { useStrings } from "../strings";
import { useMessages } from "../widgets/messages";
import { explain } from "../widgets/problem";
import { go } from "../base/router";
import { visible } from "../base/visible";
import { AbsenceSettings } from "./absence-settings";
import { LanguageSelect, ThemeSelect } from "./preference-selects";
import { canNotify, useNotificationPreference } from "./notifications";

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
        <div className="menu-row"><span>{strings.languageLabel}</span><LanguageSelect /></div>
        <div className="menu-row"><span>{strings.theme}</span><ThemeSelect /></div>
        <NotificationSwitch />
        <AbsenceSettings />
        <Button block onClick={openGrants} data-testid="open-grants">{strings.grantsPage}</Button>
        <Button block onClick={onHelp} data-testid="open-help">{strings.keyboard}</Button>
        <SignOutButtons />
      </div>
    </Drawer>
  );
}
