import { useQueryClient } from "@tanstack/react-query";
import { Button, Drawer, Switch } from "antd";
import { useId, useState } from "react";
import { signOut } from "../api/session";
import type { Session } from "../api/types";
import { useStrings } from "../strings";
import { useMessages } from "../widgets/messages";
import { explain } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { LanguageChoice, ThemeChoice } from "./choices";
import { canNotify, useWantsNotices } from "./notices";

/** Asks the browser only when it is switched on. */
function NoticeSwitch() {
  const strings = useStrings();
  const id = useId();
  const [wanted, want] = useWantsNotices();
  const [refused, setRefused] = useState(false);
  const change = (on: boolean) => void want(on).then((answer) => setRefused(answer === "refused"));
  const why = canNotify() ? refused && strings.noticesRefused : strings.noticesImpossible;
  return (
    <div className="menu-row">
      <label htmlFor={id}>{strings.notices}</label>
      <Switch id={id} checked={wanted} disabled={!canNotify()} onChange={change} data-testid="notices" />
      <output className="quiet">{why}</output>
    </div>
  );
}

/** Signing out, here or everywhere; what cannot be taken back is asked once more, in place. */
function Leave() {
  const strings = useStrings();
  const client = useQueryClient();
  const message = useMessages();
  const [asks, setAsks] = useState(false);
  const leave = (everywhere: boolean) =>
    void signOut(client, everywhere).catch((error: unknown) => void message.error(explain(error, strings)));
  if (!asks) {
    return (
      <>
        <Button block onClick={() => leave(false)} data-testid="sign-out">{strings.signOut}</Button>
        <Button block onClick={() => setAsks(true)} data-testid="sign-out-everywhere">{strings.signOutEverywhere}</Button>
      </>
    );
  }
  return (
    <section className="menu-ask" aria-label={strings.signOutEverywhere} data-testid="confirm-everywhere-panel">
      <p>{strings.signOutEverywhereMeans}</p>
      <Button block danger type="primary" onClick={() => leave(true)} data-testid="confirm-everywhere">
        {strings.signOutEverywhere}
      </Button>
      <Button block autoFocus onClick={() => setAsks(false)} data-testid="keep-everywhere">{strings.back}</Button>
    </section>
  );
}

interface MenuProps {
  session: Session;
  onClose: () => void;
  onHelp: () => void;
}

/** Who is signed in, and what they may set for themselves. */
export default function Menu({ session, onClose, onHelp }: MenuProps) {
  const strings = useStrings();
  return (
    <Drawer open title={visible(session.name)} onClose={onClose} size={320} data-testid="menu">
      <div className="menu">
        <div className="menu-row"><span>{strings.languageLabel}</span><LanguageChoice /></div>
        <div className="menu-row"><span>{strings.theme}</span><ThemeChoice /></div>
        <NoticeSwitch />
        <Button block onClick={onHelp} data-testid="open-help">{strings.keyboard}</Button>
        <Leave />
      </div>
    </Drawer>
  );
}
