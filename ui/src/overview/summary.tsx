import { Flex, Statistic } from "antd";
import type { OverviewFigures } from "../api/statistics";
import { useNow } from "../widgets/time";
import { formatDuration } from "../charts/format";
import { useOverviewStrings } from "../strings/overview";

/** The figures that matter first. */
export function Summary({ figures: { pending, oldest, decisions, fast } }: { figures: OverviewFigures }) {
  const strings = useOverviewStrings();
  const now = useNow();
  return (
    <Flex gap="large" wrap data-testid="summary">
      <Statistic title={strings.pendingNow} value={pending} />
      <Statistic title={strings.oldestWaiting} value={oldest ? formatDuration(Math.max(0, now - new Date(oldest).getTime()) / 1_000, strings.language) : strings.none} />
      <Statistic title={strings.expired} value={decisions.expired} />
      {fast.map(({ measured_from, approvals, under_2s }) => (
        <Statistic
          key={measured_from} title={`${strings.quick} · ${strings.quickFrom[measured_from]}`} value={strings.quickOf(under_2s, approvals)}
        />
      ))}
    </Flex>
  );
}
