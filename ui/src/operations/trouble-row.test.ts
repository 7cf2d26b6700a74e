import { expect, test } from "vitest";
import { type Trouble, canRetry, idOf, rowsOf, type Outcome, type Outcomes } from "./trouble-row";
import { known, type Known } from "../testing/known";

const trouble = (changes: Known<Trouble> = {}) => known<Trouble>({
  kind: "thread", thread_id: "t", run_id: "r", request_id: null, agent: "a", title: null, status: "error",
  since: "2026-01-02T10:00:00Z", why: "no", can_retry: true, ...changes,
});

const outcomes = (of: Trouble, outcome: Outcome): Outcomes => new Map([[idOf(of), { trouble: of, outcome }]]);

test("a failed run and a stranded question of one thread are two rows", () => {
  const rows = rowsOf([trouble(), trouble({ kind: "request", request_id: "q" })], new Map());
  expect(new Set(rows.map(({ id }) => id)).size).toBe(2);
});

test("what was retried stays in sight after the server has let it go", () => {
  const [row] = rowsOf([], outcomes(trouble(), { kind: "retried", at: "2026-01-02T10:05:00Z" }));
  expect(row).toMatchObject({ id: "thread/t", isSettled: true, outcome: { kind: "retried" } });
});

test("a list that is older than the retry does not bring the trouble back", () => {
  const [row] = rowsOf([trouble()], outcomes(trouble(), { kind: "retried", at: "2026-01-02T10:05:00Z" }));
  expect(row).toMatchObject({ isSettled: true, isAgain: false });
  expect(row && canRetry(row)).toBe(false);
});

test("what fails after its retry is trouble again, and can be retried again", () => {
  const again = trouble({ since: "2026-01-02T10:05:01Z" });
  const [row] = rowsOf([again], outcomes(trouble(), { kind: "retried", at: "2026-01-02T10:05:00.5Z" }));
  expect(row).toMatchObject({ isSettled: false, isAgain: true, outcome: undefined });
  expect(row && canRetry(row)).toBe(true);
});

test("a refused retry says so on its row and can be repeated", () => {
  const [row] = rowsOf([trouble()], outcomes(trouble(), { kind: "refused", error: new Error("busy") }));
  expect(row).toMatchObject({ isSettled: false, outcome: { kind: "refused" } });
  expect(row && canRetry(row)).toBe(true);
});

test("a refusal about what is gone from the list is gone too", () => {
  expect(rowsOf([], outcomes(trouble(), { kind: "refused", error: new Error("busy") }))).toEqual([]);
});

test("a row whose agent is not deployed cannot be retried", () => {
  const [row] = rowsOf([trouble({ can_retry: false })], new Map());
  expect(row && canRetry(row)).toBe(false);
});
