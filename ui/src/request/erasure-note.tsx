import { Alert } from "antd";
import type { Erased } from "../api/types";
import { useRequestStrings } from "../strings/detail";
import { actorName } from "../widgets/names";
import { clock } from "../widgets/time";

export function ErasureNote({ erased, rule, remains }: { erased: Erased; rule: Erased["rule"]; remains: string }) {
  const strings = useRequestStrings();
  const title = strings.erased[rule](actorName(erased.by, strings), clock(erased.at, strings.language));
  return <Alert type="info" showIcon title={title} description={remains} data-testid="erased" />;
}
