import { screen } from "@testing-library/react";
import { expect, test, vi } from "vitest";
import { show } from "../testing/fake-server";
import { en, ja, zh } from "../strings/operations";
import { EndpointCounts } from "./endpoint-counts";

const items = [
  { endpoint: "crm", waiting: 12, running: 8, retrying: 3 },
  { endpoint: "idle", waiting: 0, running: 0, retrying: 0 },
  { endpoint: "per request", waiting: 0, running: 1, retrying: 0 },
];

function served() {
  const fetched = vi.fn((_path: string) => Promise.resolve(new Response(JSON.stringify({ items, next: null }))));
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

test("endpoints with unfinished deliveries are listed with their counts", async () => {
  served();
  show(<EndpointCounts isVisible />);
  const rows = await screen.findAllByTestId("endpoint-counts");
  expect(rows.map(({ textContent }) => textContent)).toEqual([
    "crm: 12 waiting, 8 being sent, 3 waiting for a retry",
    "webhooks of requests: 0 waiting, 1 being sent, 0 waiting for a retry",
  ]);
});

test("nobody but auditors and administrators asks for the counts", () => {
  const fetched = served();
  show(<EndpointCounts isVisible={false} />);
  expect(fetched).not.toHaveBeenCalled();
});

test("the line names the endpoint and each count in each language", () => {
  for (const { deliveries } of [en, ja, zh]) {
    for (const part of ["crm", "12", "8", "3"]) expect(deliveries.counts("crm", 12, 8, 3)).toContain(part);
    expect(Object.keys(deliveries.names)).toEqual(["per request", "mail server"]);
  }
});
