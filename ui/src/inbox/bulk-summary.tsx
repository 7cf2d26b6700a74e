import { Descriptions } from "antd";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { tiers } from "./inbox-url";
import { amountText, formatCount, totalsOf } from "./stake";

interface BulkSummaryProps {
  /** The requests that are decided. */
  requests: readonly Request[];
  /** The requests of the list that are left out, each with the reason. */
  leftOut: readonly string[];
}

/** Return how often each value occurs. */
function countsOf<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

/** What a bulk decision covers: sums and extremes of the declared amounts, the stakes, and what it leaves out. */
export function BulkSummary({ requests, leftOut }: BulkSummaryProps) {
  const { bulk, language, range, tierNames } = useStrings();
  const number = (count: number) => formatCount(count, language);
  const totals = totalsOf(requests);
  const undeclared = requests.length - totals.reduce((sum, { count }) => sum + count, 0);
  const money = (amount: number, unit: (typeof totals)[number]["unit"]) => amountText(amount, unit, language);
  const byTier = countsOf(requests.map(({ tier }) => tier ?? "low"));
  const rows = [
    ...totals.flatMap(({ unit, sum, least, greatest }, index) => [
      { key: `sum-${index}`, label: bulk.sum, children: money(sum, unit) },
      { key: `extremes-${index}`, label: bulk.extremes, children: range(money(least, unit), money(greatest, unit)) },
    ]),
    ...(totals.length > 0 && undeclared > 0 ? [{ key: "undeclared", label: "", children: bulk.undeclared(number(undeclared)) }] : []),
    { key: "tiers", label: bulk.tiers, children: tiers.flatMap((tier) => (byTier.has(tier) ? [`${tierNames[tier]} ${number(byTier.get(tier) ?? 0)}`] : [])).join(", ") },
    ...(leftOut.length > 0 ? [{
      key: "left-out", label: bulk.leftOut,
      children: <ul className="bulk-left-out">{Array.from(countsOf(leftOut), ([why, count]) => <li key={why}>{bulk.leftOutWhy(number(count), why)}</li>)}</ul>,
    }] : []),
  ];
  return <Descriptions size="small" column={1} items={rows} className="bulk-summary" data-testid="bulk-summary" />;
}
