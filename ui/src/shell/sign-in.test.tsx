import { screen, waitFor } from "@testing-library/react";
import { expect, test } from "vitest";
import { serve, show } from "../testing/fake-server";
import { SignIn } from "./sign-in";

function open(oidc: boolean) {
  serve(() => [200, { oidc }]);
  return show(<SignIn error={null} />);
}

test("where there is a provider the page leads to it, and back to where the person was", async () => {
  window.history.replaceState(null, "", "/r/refund-1182?status=pending");
  open(true);
  const link = await screen.findByTestId<HTMLAnchorElement>("provider");
  expect(link.getAttribute("href")).toBe("/v1/session/oidc?next=%2Fr%2Frefund-1182%3Fstatus%3Dpending");
});

test("where there is none a token is the only way", async () => {
  const client = open(false);
  await waitFor(() => expect(client.getQueryData(["ways"])).toEqual({ oidc: false }));
  expect(screen.getByTestId("token")).toBeTruthy();
  expect(screen.queryByTestId("provider")).toBeNull();
});
