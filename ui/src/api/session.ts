import { useQuery, useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { basePath, currentPath } from "../base/router";
import { call, isStatus, ProblemError } from "./call";
import type { Info, Session, Ways } from "./types";

let token: string | undefined;
let replace = false;

/** Remove the token from the URL, so that neither the history nor a screenshot shows it. */
export function takeToken(): boolean {
  const linkToken = new URLSearchParams(window.location.hash.slice(1)).get("token");
  if (!linkToken) return false;
  token = linkToken;
  window.history.replaceState(null, "", window.location.pathname + window.location.search);
  return true;
}

async function readSession(): Promise<Session | null> {
  const current = token;
  if (current) {
    const body = { token: current, ...(replace && { replace }) };
    await call("POST", "/v1/session", body).catch((error: unknown) => {
      // Keep the link's token while the server is starting or a question is open.
      if (!isStatus(error, 0) && !isStatus(error, 503) && !isSignedIn(error)) forgetLink();
      throw error;
    });
    forgetLink();
  }
  return call<Session>("GET", "/v1/session").catch((error: unknown) => {
    if (isStatus(error, 401)) return null;
    throw error;
  });
}

export function useSession() {
  const client = useQueryClient();
  useEffect(() => {
    const arrived = () => takeToken() && void client.resetQueries();
    window.addEventListener("hashchange", arrived);
    return () => window.removeEventListener("hashchange", arrived);
  }, [client]);
  return useQuery({ queryKey: ["session"], queryFn: readSession, staleTime: Infinity, retry: false });
}

/** Return whether the server asks if a link should replace another person's session. */
export function isSignedIn(error: unknown): error is ProblemError {
  return error instanceof ProblemError && error.code === "signed_in";
}

function forgetLink() {
  token = undefined;
  replace = false;
}

/** Continue as the person of the link, or as the current one. */
export async function resolveLink(client: QueryClient, isReplaced: boolean): Promise<void> {
  if (isReplaced) replace = true;
  else forgetLink();
  await client.resetQueries();
}

export async function signIn(client: QueryClient, newToken: string): Promise<void> {
  token = newToken;
  await client.resetQueries({ queryKey: ["session"] });
}

/** Sign out here, or revoke all tokens and sessions everywhere. */
export async function signOut(client: QueryClient, everywhere = false): Promise<void> {
  await call("DELETE", everywhere ? "/v1/session?everywhere=true" : "/v1/session");
  client.setQueryData(["session"], null);
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
}

/** Return whether people can sign in with an identity provider. */
export function useProvider(): boolean {
  const ways = useQuery({ queryKey: ["ways"], queryFn: () => call<Ways>("GET", "/v1/session/ways"), staleTime: Infinity });
  return ways.data?.oidc ?? false;
}

/** Return the address of the provider's sign-in, which returns to the current page; `isFresh` asks for the credentials again. */
export function providerAddress(isFresh = false): string {
  const next = encodeURIComponent(currentPath() + window.location.search);
  return `${basePath}/v1/session/oidc?next=${next}${isFresh ? "&fresh=true" : ""}`;
}

export function useInfo() {
  return useQuery({ queryKey: ["info"], queryFn: () => call<Info>("GET", "/v1/info"), staleTime: Infinity });
}
