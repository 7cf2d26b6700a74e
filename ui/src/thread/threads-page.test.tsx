import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, test } from "vitest";
import { serve, show } from "../testing/fake-server";
import ThreadsPage from "./threads-page";

afterEach(() => window.history.replaceState(null, "", "/"));

test("the agent of the filter is in the address and in the query, beside the status", async () => {
  const user = userEvent.setup();
  const read: string[] = [];
  serve((path) => {
    read.push(path);
    if (path.startsWith("/v1/agents")) return [200, { items: [{ name: "refund" }, { name: "haiku" }], next: null }];
    return [200, { items: [], next: path.includes("agent=") ? "c" : null }];
  });
  window.history.replaceState(null, "", "/threads?status=done");
  show(<ThreadsPage />);
  expect((await screen.findByTestId("no-threads")).textContent).toContain("No thread matches these filters.");
  await user.click(screen.getByRole("combobox", { name: "Show: Agent" }));
  await user.click(await screen.findByText("haiku", { selector: ".ant-select-item-option-content" }));
  expect(window.location.search).toBe("?status=done&agent=haiku");
  await waitFor(() => expect(read).toContain("/v1/threads?limit=50&status=done&agent=haiku"));
  await waitFor(() => expect(screen.getByTestId("no-threads").textContent).toContain("Look at the older ones"));
  await user.click(screen.getByRole("combobox", { name: "Show: Agent" }));
  await user.click(await screen.findByText("Any agent", { selector: ".ant-select-item-option-content" }));
  expect(window.location.search).toBe("?status=done");
});
