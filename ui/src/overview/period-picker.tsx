import { DatePicker, Flex, Segmented } from "antd";
import dayjs from "dayjs";
import type { Period } from "../api/statistics";
import { useOverviewStrings } from "../strings/overview";

const lengths = [1, 7, 30, 90];
const mostHours = 3;
/** The most days that the server counts in one reply. */
const mostDays = 366;

const today = () => new Date().toISOString().slice(0, 10);
const daysOf = ({ since, until }: Period) => dayjs(until).diff(dayjs(since), "day") + 1;

/** Return the period between two days; a short one has a point for each hour. */
function between(since: string, until: string): Period {
  const period: Period = { since, until, by: "day" };
  return { ...period, by: daysOf(period) <= mostHours ? "hour" : "day" };
}

/** Return the period of some days up to today, in UTC. */
export function lastDays(days: number): Period {
  return between(dayjs(today()).subtract(days - 1, "day").format("YYYY-MM-DD"), today());
}

/** Choose a period: some days up to today, or any two days. */
export function PeriodPicker({ period, onChange }: { period: Period; onChange: (period: Period) => void }) {
  const strings = useOverviewStrings();
  const chosen = period.until === today() ? lengths.find((days) => days === daysOf(period)) : undefined;
  return (
    <Flex gap="small" wrap align="center">
      <Segmented<number>
        aria-label={strings.period} value={chosen ?? 0} onChange={(days) => onChange(lastDays(days))}
        options={lengths.map((days) => ({ value: days, label: strings.days(days) }))} data-testid="period"
      />
      <DatePicker.RangePicker
        aria-label={strings.period} allowClear={false} value={[dayjs(period.since), dayjs(period.until)]} maxDate={dayjs(today())}
        disabledDate={(day, { from }) => from !== undefined && Math.abs(day.diff(from, "day")) >= mostDays}
        onChange={(range) => range?.[0] && range[1] && onChange(between(range[0].format("YYYY-MM-DD"), range[1].format("YYYY-MM-DD")))}
      />
    </Flex>
  );
}
