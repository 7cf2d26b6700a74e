import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, test } from "vitest";
import type { Request } from "../api/types";
import { useSteady } from "./use-steady";

const pending = { id: "r1", version: 1, status: "pending", created_at: "2026-01-01T00:00:00Z" } as Request;

test("a row that has left the list says how its request ended, also when the list is the first to tell", () => {
  const client = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => <QueryClientProvider client={client}>{children}</QueryClientProvider>;
  const { result, rerender } = renderHook(({ listed }) => useSteady("all", listed, false), {
    wrapper, initialProps: { listed: [pending] as Request[] },
  });
  rerender({ listed: [] });
  expect(result.current.rows.map(({ left, request }) => [left, request.status])).toEqual([[true, "pending"]]);
  act(() => void client.setQueryData(["request", "r1"], { ...pending, version: 2, status: "completed" }));
  expect(result.current.rows.map(({ left, request }) => [left, request.status])).toEqual([[true, "completed"]]);
});
