import { Alert } from "antd";
import { useEffect } from "react";
import type { Erased, Request } from "../api/types";
import { useRequestStrings } from "../strings/use-request-strings";
import { clock } from "../widgets/time";
import { actorName } from "./assignment";
import { dropAllDrafts, useOwner } from "./draft-store";

/** Show when, by whom and by which rule a request was erased, and remove its local drafts. */
export function RequestErasureNote({ request }: { request: Request }) {
  const strings = useRequestStrings();
  const { tenant, name } = useOwner();
  const { id, erased } = request;
  const isErased = Boolean(erased);
  useEffect(() => {
    if (isErased) dropAllDrafts({ tenant, name }, id);
  }, [isErased, tenant, name, id]);
  if (!erased) return null;
  return <ErasureNote erased={erased} rule={erased.rule} remains={strings.requestErasureNote} />;
}

/** Show that a thread's content was erased. An erasure always covers the whole thread. */
export function ThreadErasureNote({ erased }: { erased: Erased }) {
  return <ErasureNote erased={erased} rule={erased.rule === "age" ? "age" : "request"} remains={useRequestStrings().threadErasureNote} />;
}

function ErasureNote({ erased, rule, remains }: { erased: Erased; rule: Erased["rule"]; remains: string }) {
  const strings = useRequestStrings();
  const title = strings.erased[rule](actorName(erased.by, strings), clock(erased.at, strings.language));
  return <Alert type="info" showIcon title={title} description={remains} data-testid="erased" />;
}
