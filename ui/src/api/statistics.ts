import { useQuery } from "@tanstack/react-query";
import { call } from "./call";
import type { OversightReport, OverviewFigures } from "./schema";

export type { OversightReport, OverviewFigures };
export type { AnswerTimes, DecisionCounts, NamedDecisions, OversightRow } from "./schema";

/** The first and the last day of the figures, in UTC, and the length of a point of the queue. */
export interface Period {
  since: string;
  until: string;
  by: "hour" | "day";
}

export const figuresPath = ({ since, until, by }: Period, format?: "csv") =>
  `/v1/statistics?${new URLSearchParams({ since: `${since}T00:00:00Z`, until: `${until}T00:00:00Z`, by, ...(format && { format }) }).toString()}`;

export const reportPath = ({ since, until }: Period, format?: "html") =>
  `/v1/report?${new URLSearchParams({ since: `${since}T00:00:00Z`, until: `${until}T00:00:00Z`, ...(format && { format }) }).toString()}`;

/** Ask again soon while the server still counts older events. */
const again = { refetchInterval: ({ state }: { state: { data: { complete: boolean } | undefined } }) => (state.data?.complete === false ? 1_000 : 60_000) };

export const useFigures = (period: Period) => useQuery({
  queryKey: ["statistics", period],
  queryFn: () => call<OverviewFigures>("GET", figuresPath(period)),
  placeholderData: (before: OverviewFigures | undefined) => before,
  ...again,
});

export const useReport = (period: Period) => useQuery({
  queryKey: ["report", period.since, period.until],
  queryFn: () => call<OversightReport>("GET", reportPath(period)),
  placeholderData: (before: OversightReport | undefined) => before,
  ...again,
});
