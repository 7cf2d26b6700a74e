import { AgentText } from "../../widgets/agent-text";
import { useLearningStrings } from "./strings";

/** When a bullet applies; nothing if it always does. */
export function BulletScope({ scope }: { scope: string | undefined }) {
  const strings = useLearningStrings();
  return scope ? <div className="quiet" data-testid="bullet-scope">{strings.bulletScope}: <AgentText text={scope} /></div> : null;
}
