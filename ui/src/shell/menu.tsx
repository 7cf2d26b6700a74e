import { useQueryClient } from "@tanstack/react-query";
import { Button, Drawer } from "antd";
import { signOut } from "../api/session";
import type { Session } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../widgets/visible";
import { LanguageChoice, ThemeChoice } from "./choices";

interface MenuProps {
  session: Session;
  onClose: () => void;
  onHelp: () => void;
}

/** Who is signed in, and what they may set for themselves. */
export default function Menu({ session, onClose, onHelp }: MenuProps) {
  const strings = useStrings();
  const client = useQueryClient();
  return (
    <Drawer open title={visible(session.name)} onClose={onClose} size={320} data-testid="menu">
      <div className="menu">
        <div className="menu-row"><span>{strings.languageLabel}</span><LanguageChoice /></div>
        <div className="menu-row"><span>{strings.theme}</span><ThemeChoice /></div>
        <Button block onClick={onHelp} data-testid="open-help">{strings.keyboard}</Button>
        <Button block onClick={() => void signOut(client)} data-testid="sign-out">{strings.signOut}</Button>
      </div>
    </Drawer>
  );
}
