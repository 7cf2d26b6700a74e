import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, expect, test } from "vitest";
import type { Session } from "../api/types";
import { serve, show, type RecordedWrite } from "../testing/fake-server";
import { known } from "../testing/known";
import Menu from "./menu";

const session = known<Session>({ name: "ann", role: "person", tenant: "default", groups: [] });
const nothing = () => undefined;

let sent: RecordedWrite[];
beforeEach(() => {
  sent = serve(() => [204, null]);
});

function open() {
  const client = show(<Menu session={session} onClose={nothing} onHelp={nothing} />);
  client.setQueryData(["session"], session);
  return client;
}

test("who wants to sign out everywhere is asked once more, and then it is done", async () => {
  const user = userEvent.setup();
  const client = open();
  await user.click(await screen.findByTestId("sign-out-everywhere"));
  expect(screen.getByTestId("confirm-everywhere-panel").textContent).toContain("on every device");
  expect(sent).toEqual([]);
  await user.click(screen.getByTestId("confirm-everywhere"));
  await waitFor(() => expect(client.getQueryData(["session"])).toBeNull());
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["DELETE /v1/session?everywhere=true"]);
});

test("who thinks better of it stays signed in, and finds the way out of here alone", async () => {
  const user = userEvent.setup();
  const client = open();
  await user.click(await screen.findByTestId("sign-out-everywhere"));
  await user.click(screen.getByTestId("keep-everywhere"));
  expect(client.getQueryData(["session"])).toEqual(session);
  await user.click(screen.getByTestId("sign-out"));
  await waitFor(() => expect(client.getQueryData(["session"])).toBeNull());
  expect(sent.map(({ path }) => path)).toEqual(["/v1/session"]);
});
