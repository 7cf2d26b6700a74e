import { Alert, Skeleton } from "antd";
import { useState } from "react";
import { useRequest } from "../api/requests";
import type { Request } from "../api/types";
import { useStrings } from "../strings";
import { Problem } from "../widgets/problem";
import { visible } from "../widgets/visible";
import { AgentWords } from "./agent-words";
import { Facts, signature } from "./facts";
import { Heading } from "./heading";
import { OpenRequest } from "./open-request";
import { Record } from "./record";

interface PlaceProps {
  onDecided?: (completed: Request) => void;
  inThread?: boolean;
  /** Leave the focus where it is: somebody walks through the list with the arrows. */
  keepsFocus?: boolean;
}

/** In a thread's column an answered question takes a line; what was asked can be unfolded. */
function FoldedFacts({ request }: { request: Request }) {
  if (!request.action) return null;
  return (
    <details className="compact">
      <summary><code>{signature(request.action.name, request.action.args)}</code></summary>
      <Facts request={request} />
    </details>
  );
}

function Panel({ request, onDecided, inThread = false, keepsFocus = false }: PlaceProps & { request: Request }) {
  const strings = useStrings();
  // What ended before it was opened, or was decided right here, is a record; what ends elsewhere stays open but dead.
  const [open, setOpen] = useState(request.status === "pending");
  const decided = (completed: Request) => {
    setOpen(false);
    onDecided?.(completed);
  };
  return (
    <article className="detail" data-testid="request-detail" data-id={request.id} data-status={request.status}>
      <Heading request={request} focus={!inThread && !keepsFocus} threadLink={!inThread} />
      {request.attention && <Alert type="warning" showIcon title={strings.attention} description={visible(request.attention)} />}
      {open ? <OpenRequest request={request} onDecided={decided} /> : (
        <>
          {inThread ? <FoldedFacts request={request} /> : <Facts request={request} />}
          {!inThread && <AgentWords request={request} />}
          <Record request={request} />
        </>
      )}
    </article>
  );
}

/** One request by its id, in the inbox or in its thread. */
export function RequestDetail({ id, ...place }: PlaceProps & { id: string }) {
  const { data, error, refetch } = useRequest(id);
  if (data) return <Panel key={id} request={data} {...place} />;
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  return <Skeleton active paragraph={{ rows: 6 }} />;
}
