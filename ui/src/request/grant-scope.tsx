import { useRequestStrings } from "../strings/detail";
import { Link, sessionPath } from "../base/router";
import { visible } from "../base/visible";
import { clientInSession, clientName } from "./client-call";
import { identifierShape, limitText, type Scope } from "./granting";
import "./request.css";

/** The conversation for whose calls a grant holds; a link if it is the session of a client. */
function InThread({ thread }: { thread: string }) {
  const { granting } = useRequestStrings();
  const client = clientInSession(thread);
  if (client === undefined) return <li>{granting.inThread} <code>{visible(thread)}</code></li>;
  return <li>{granting.inThatSession} <Link to={sessionPath(thread)}>{visible(clientName(client))} <code>{visible(thread.slice(client.length + 1))}</code></Link></li>;
}

/** What limits the calls that a grant approves: conditions on arguments, the conversation, the folder, the asker. */
export function GrantScope({ scope, isThisSession = false }: { scope: Scope; isThisSession?: boolean }) {
  const { granting, ...strings } = useRequestStrings();
  const conditions = Object.entries(scope.where ?? {});
  const free = conditions.length > 0 ? (scope.names ?? []).filter((name) => !conditions.some(([limited]) => limited === name)) : [];
  const [asker, agent] = [scope.asked_by?.replace(/^agent:/, ""), scope.agent].map((name) => name && visible(name));
  return (
    <ul className="grant-scope">
      {!scope.where && <li>{granting.sameArguments}</li>}
      {scope.where && conditions.length === 0 && <li>{granting.anyArguments}</li>}
      {conditions.map(([name, condition]) => {
        const shape = identifierShape(condition);
        return <li key={name}><code>{shape ? granting.anyIdentifier(visible(name), shape) : visible(`${name} ${limitText(condition)}`)}</code></li>;
      })}
      {free.map((name) => <li key={name}><code>{granting.anyValue(visible(name))}</code></li>)}
      {scope.thread_id !== null && (isThisSession ? <li>{granting.inSession}</li> : <InThread thread={scope.thread_id} />)}
      {scope.folder !== null && <li>{granting.inFolder(visible(scope.folder))}</li>}
      {[agent, asker].filter(Boolean).map((name) => <li key={name}>{strings.agentNamed(name ?? "")}</li>)}
    </ul>
  );
}
