import { screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import type { OversightReport, OverviewFigures } from "../api/schema";
import { QueueSection, Report } from "./overview-page";
import { known } from "../testing/known";
import { serve, show } from "../testing/fake-server";

const drawn: { stepped?: unknown }[] = [];
vi.mock("../charts/chart", () => ({ default: ({ content }: { content: { data: { datasets: { stepped?: unknown }[] } } }) => {
  drawn.push(...content.data.datasets);
  return null;
} }));

const row = (name: string) => ({
  name, asked: 1, decided_by_people: 1, decided_by_policy: 0, decided_by_grant: 0, edited: 0, rejected: 0, expired: 0, cancelled: 0, seen: 1, median: 3, p90: 4, fast: [], checks: 0, caught: 0,
});

test("a rule without a name is called as on a request", async () => {
  const report = known<OversightReport>({
    since: "2026-01-01T00:00:00Z", until: "2026-01-02T00:00:00Z", made_at: "2026-01-02T00:00:00Z", complete: true, error: 0.05, position: "1",
    total: row(""), rules: [row("rules[0]"), row("otherwise"), row("large refunds")], tools: [row("rules[0]")], groups: [],
  });
  serve(() => [200, report]);
  show(<Report period={{ since: "2026-01-01", until: "2026-01-01", by: "day" }} />);
  const names = (part: string) => [...screen.getByTestId(part).querySelectorAll("tbody .figure-name")].map(({ textContent }) => textContent);
  await screen.findByTestId("report-rules");
  expect(names("report-rules")).toEqual(["rule 1 of the policy", "the default of the policy", "large refunds", "all"]);
  expect(names("report-tools")).toEqual(["rules[0]", "all"]);
});

test("what waits is drawn in steps: nothing waits half", async () => {
  const queue = [{ at: "2026-01-01T00:00:00Z", pending: 3, asked: 3, ended: 0 }];
  show(<QueueSection figures={known<OverviewFigures>({ queue, by: "day" })} />);
  await vi.waitFor(() => expect(drawn.map(({ stepped }) => stepped)).toEqual(["middle", undefined, undefined]));
});
