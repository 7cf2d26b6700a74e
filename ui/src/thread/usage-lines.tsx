import type { ModelCalls } from "../api/types";
import { useStrings } from "../strings";
import { visible } from "../base/visible";
import { useDuration } from "../widgets/time-format";

/** Return the use of one model as short parts: calls, tokens, time and cost. */
function useParts(): (usage: ModelCalls) => string[] {
  const { language, usage: strings } = useStrings();
  const duration = useDuration();
  const number = (value: number, options?: Intl.NumberFormatOptions) => new Intl.NumberFormat(language, options).format(value);
  const tokens = ({ input_tokens: read, cached_tokens: cached, output_tokens: written, calls, unreported_calls }: ModelCalls) => {
    if (read === null || written === null) return [strings.unreported];
    const share = cached ? number(cached / read, { style: "percent" }) : null;
    return [
      share === null ? strings.read(number(read)) : strings.readCached(number(read), share),
      strings.written(number(written)),
      ...(unreported_calls > 0 && calls > 1 ? [strings.unreportedCalls(number(unreported_calls), unreported_calls === 1)] : []),
    ];
  };
  const price = (cost: number, currency: string) => {
    const money = { style: "currency", currency } as const;
    // A yen has no cents, and a dinar has 1,000 fils.
    const { maximumFractionDigits: digits = 2 } = new Intl.NumberFormat(language, money).resolvedOptions();
    return number(cost, { ...money, ...(cost > 0 && cost < 10 ** -digits && { maximumSignificantDigits: 2 }) });
  };
  return (usage) => [
    strings.calls(number(usage.calls), usage.calls === 1),
    ...tokens(usage),
    duration(usage.seconds * 1_000),
    ...(usage.cost !== null && usage.currency !== null ? [price(usage.cost, usage.currency)] : []),
  ];
}

/** The newest run's use of models, one quiet line for each model. */
export function UsageLines({ usage }: { usage: ModelCalls[] }) {
  const parts = useParts();
  if (usage.length === 0) return null;
  return (
    <ul className="usage quiet" data-testid="usage">
      {usage.map((each) => <li key={each.model}>{[visible(each.model), ...parts(each)].join(" · ")}</li>)}
    </ul>
  );
}
