import { useQuery } from "@tanstack/react-query";
import { call } from "../api/call";
import type { EndpointCounts as Counts, Page } from "../api/types";
import { useOperationsStrings } from "../strings/operations";
import { Problem } from "../widgets/problem";

const isUnfinished = ({ waiting, running, retrying }: Counts) => waiting + running + retrying > 0;

/** The endpoints with unfinished deliveries, for auditors and administrators. */
export function EndpointCounts({ isVisible }: { isVisible: boolean }) {
  const { deliveries: strings } = useOperationsStrings();
  const { data, error } = useQuery({
    queryKey: ["deliveries", "counts"], queryFn: () => call<Page<Counts>>("GET", "/v1/deliveries/counts"), enabled: isVisible,
    refetchInterval: 5_000,
  });
  const rows = data?.items.filter(isUnfinished) ?? [];
  if (!error && rows.length === 0) return null;
  return (
    <section className="pause-section" aria-label={strings.title}>
      <h2>{strings.title}</h2>
      <Problem error={error} />
      <ul className="pause-list">
        {rows.map(({ endpoint, waiting, running, retrying }) => (
          <li key={endpoint} data-testid="endpoint-counts">
            {strings.counts(strings.names[endpoint] ?? endpoint, waiting, running, retrying)}
          </li>
        ))}
      </ul>
    </section>
  );
}
