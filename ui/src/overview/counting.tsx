import { Flex, Progress } from "antd";
import { formatMoment } from "../charts/format";
import { useOverviewStrings } from "../strings/overview";

/** Say up to which time events are counted, and how far the counting is. */
export function Counting({ state }: { state: { complete: boolean; share: number; as_of: string } }) {
  const strings = useOverviewStrings();
  const percent = Math.floor(state.share * 100);
  return (
    <output className="quiet" data-testid="counting" data-complete={state.complete}>
      {!state.complete && <Flex vertical><span>{strings.counting(percent)}</span><Progress percent={percent} showInfo={false} aria-label={strings.counting(percent)} /></Flex>}
      {strings.asOf(formatMoment(state.as_of, strings.language))}
    </output>
  );
}
