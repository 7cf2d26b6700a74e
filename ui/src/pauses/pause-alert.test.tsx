import { screen } from "@testing-library/react";
import { expect, test } from "vitest";
import type { Pause } from "../api/types";
import { serve, show } from "../testing/fake-server";
import { known } from "../testing/known";
import PauseAlert from "./pause-alert";

test.each([
  ["of an administrator", { by: "root", reason: "wrong paper" }, "Agent gates is paused: wrong paper (by root since"],
  ["whose administrator was erased", { by: "erased:person", reason: "" }, "Agent gates is paused (by an erased person since"],
])("a pause %s says who paused and why", async (_, part, text) => {
  serve(() => [200, { name: "ann", role: "person", tenant: "t", groups: [] }]);
  show(<PauseAlert pauses={[known<Pause>({ id: "p1", agent: "gates", since: "2026-01-02T10:00:00Z", until: null, ...part })]} />);
  expect((await screen.findByTestId("pause-alert")).textContent).toContain(text);
});
