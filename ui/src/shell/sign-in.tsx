import { useQueryClient } from "@tanstack/react-query";
import { Button, Card, Input } from "antd";
import { useId, useState } from "react";
import { isStatus, ProblemError } from "../api/call";
import { providerAddress, signIn, useProvider } from "../api/session";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";

/** The sign-in page. */
export function SignIn({ error }: { error: Error | null }) {
  const strings = useStrings();
  const client = useQueryClient();
  const id = useId();
  const hasProvider = useProvider();
  const [token, setToken] = useState("");
  const enter = () => void signIn(client, token.trim());
  const refused = isStatus(error, 401) || isStatus(error, 403) || isStatus(error, 422);
  const isAgent = error instanceof ProblemError && error.code === "agent_session";
  return (
    <main className="sign-in">
      <Card title={strings.signInTitle} data-testid="sign-in">
        <p>{strings.signInHint}</p>
        {error && <Problem error={error} {...(refused && { title: isAgent ? strings.texts.problems.agent_session : strings.linkExpired })} />}
        {hasProvider && <Button type="primary" block href={providerAddress()} data-testid="provider">{strings.signInWithProvider}</Button>}
        <label htmlFor={id}>{strings.token}</label>
        <Input.Password
          id={id} value={token} autoComplete="off" data-testid="token"
          onChange={(event) => setToken(event.target.value)} onPressEnter={enter}
        />
        <Button type={hasProvider ? "default" : "primary"} disabled={!token.trim()} onClick={enter} data-testid="enter">{strings.signIn}</Button>
      </Card>
    </main>
  );
}
