import { Alert } from "antd";
import { useEffect } from "react";
import type { Request } from "../api/types";
import { clock } from "../widgets/time";
import { dropWords } from "./draft-store";
import { actorName } from "./people";
import { useOwner } from "./use-desk";
import { useWords } from "./words";

/** When, by whom and by which rule it was erased; what was typed about it here goes too. */
export function ErasedNote({ request }: { request: Request }) {
  const strings = useWords();
  const { tenant, name } = useOwner();
  const { id, erased } = request;
  const isErased = Boolean(erased);
  useEffect(() => {
    if (isErased) dropWords({ tenant, name }, id);
  }, [isErased, tenant, name, id]);
  if (!erased) return null;
  const { rule, by, at } = erased;
  const title = strings.erased[rule](actorName(by, strings), clock(at, strings.language));
  return <Alert type="info" showIcon title={title} description={strings.erasedStays} data-testid="erased" />;
}
