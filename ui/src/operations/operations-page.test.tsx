import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { serve, show, type RecordedWrite } from "../testing/fake-server";
import { en, ja, zh } from "../strings/operations";
import { Absences } from "./operations-page";

const absence = { person: "ann", deputy: "dee", until: "2030-01-02T10:00:00Z", groups: [] };

function served(): RecordedWrite[] {
  const sent = serve((path, { method }) =>
    method === "GET" && path === "/v1/absences" ? [200, { items: sent.length > 0 ? [] : [absence], next: null }] : [204, null]);
  return sent;
}

afterEach(() => localStorage.clear());

test("an administrator ends the absence of another person after a confirmation", async () => {
  const user = userEvent.setup();
  const sent = served();
  show(<Absences isAdmin isVisible />);
  expect((await screen.findByTestId("absence-of")).textContent).toMatch(/dee answers for ann, who is away until/);
  await user.click(screen.getByTestId("end-absence"));
  expect(sent).toEqual([]);
  await user.click(screen.getByTestId("confirm-end-absence"));
  await waitFor(() => expect(screen.queryByTestId("absence-of")).toBeNull());
  expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["DELETE /v1/absences?person=ann"]);
});

test("an auditor reads the list and ends nothing; nobody else asks for it", async () => {
  served();
  show(<Absences isAdmin={false} isVisible={false} />);
  show(<Absences isAdmin={false} isVisible />);
  expect(await screen.findAllByTestId("absence-of")).toHaveLength(1);
  expect(screen.queryByTestId("end-absence")).toBeNull();
});

test("the sentence names the deputy, the absent person and the end in each language", () => {
  for (const { absences } of [en, ja, zh]) {
    for (const part of ["dee", "ann", "Friday"]) expect(absences.standsFor("dee", "ann", "Friday")).toContain(part);
    expect(absences.endTitle("ann")).toContain("ann");
  }
});
