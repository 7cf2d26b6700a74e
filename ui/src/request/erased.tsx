import { Alert } from "antd";
import { useEffect } from "react";
import type { Erased, Request } from "../api/types";
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
  return <Note erased={erased} rule={erased.rule} stays={strings.erasedStays} />;
}

/** That what an agent said and did in a thread was erased; of a thread all goes, by whichever rule. */
export function ErasedThread({ erased }: { erased: Erased }) {
  return <Note erased={erased} rule={erased.rule === "age" ? "age" : "request"} stays={useWords().erasedThreadStays} />;
}

function Note({ erased, rule, stays }: { erased: Erased; rule: Erased["rule"]; stays: string }) {
  const strings = useWords();
  const title = strings.erased[rule](actorName(erased.by, strings), clock(erased.at, strings.language));
  return <Alert type="info" showIcon title={title} description={stays} data-testid="erased" />;
}
