import { useQueryClient } from "@tanstack/react-query";
import { Button, Card } from "antd";
import { useEffect } from "react";
import type { ProblemError } from "../api/call";
import { resolveLink } from "../api/session";
import type { Session } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../base/visible";

/** Ask before a link replaces the session, because it may come from another site. The safe answer has the focus. */
export function ReplaceSession({ error }: { error: ProblemError }) {
  const strings = useStrings();
  const client = useQueryClient();
  const { current, other } = error.people ?? {};
  const settle = (isReplaced: boolean) => void resolveLink(client, isReplaced);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => event.key === "Escape" && settle(false);
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  });
  const displayName = (who: Session | undefined) => {
    if (!who) return "?";
    return visible(who.tenant === current?.tenant && who.tenant === other?.tenant ? who.name : `${who.name} (${who.tenant})`);
  };
  return (
    <main className="sign-in">
      <Card title={strings.replaceTitle} data-testid="replace-session">
        <p>{strings.replaceWarning(displayName(current), displayName(other), other?.role === "admin")}</p>
        <Button type="primary" autoFocus block data-testid="stay" onClick={() => settle(false)}>{strings.staySignedIn(displayName(current))}</Button>
        <Button block data-testid="replace" onClick={() => settle(true)}>{strings.signInAs(displayName(other))}</Button>
      </Card>
    </main>
  );
}
