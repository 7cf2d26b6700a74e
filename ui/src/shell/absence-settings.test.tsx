import { fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test } from "vitest";
import { serve, show } from "../testing/fake-server";
import { AbsenceSettings } from "./menu";

const until = "2030-01-02T10:00";
const unknownName = {
  status: 422, code: "invalid", title: "Invalid",
  errors: [{ field: "deputy", code: "unknown_name", message: "nobody", params: { name: "bo", nearest: "bob" } }],
};

/** Open the form with an unknown deputy, and return what the page sends. */
async function refused() {
  const sent = serve((path, { body }) => {
    if (path === "/v1/session") return [200, { name: "ann", role: "person", tenant: "default", groups: [] }];
    const absence = body as { deputy: string; unknown?: boolean };
    return absence.deputy === "bob" || absence.unknown ? [200, { absence: null, deputy_for: [] }] : [422, unknownName];
  });
  show(<AbsenceSettings />);
  await userEvent.click(await screen.findByTestId("open-away"));
  await userEvent.type(screen.getByTestId("away-deputy"), "bo");
  fireEvent.change(screen.getByTestId("away-until"), { target: { value: until } });
  await userEvent.click(screen.getByTestId("leave"));
  expect((await screen.findByTestId("unknown-names")).textContent).toContain("Nobody here is known as bo.");
  return sent;
}

test("the nearest name takes the place of an unknown deputy", async () => {
  const sent = await refused();
  await userEvent.click(screen.getByTestId("use-nearest"));
  expect(screen.getByTestId("away-deputy")).toHaveProperty("value", "bob");
  expect(screen.queryByTestId("unknown-names")).toBeNull();
  await userEvent.click(screen.getByTestId("leave"));
  await waitFor(() => expect(sent.at(-1)?.body).toEqual({ deputy: "bob", until: new Date(until).toISOString() }));
});

test("an unknown deputy is named all the same only after the consequence was said", async () => {
  const sent = await refused();
  expect(screen.getByTestId("unknown-names").textContent).toContain("Only administrators could then answer in your place.");
  await userEvent.click(screen.getByTestId("take-unknown"));
  await waitFor(() => expect(sent.map(({ body }) => (body as { unknown?: boolean }).unknown)).toEqual([undefined, true]));
  await waitFor(() => expect(screen.queryByTestId("away-deputy")).toBeNull());
});
