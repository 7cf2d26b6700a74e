import type { Request } from "../api/types";
import { HeldAnswer } from "../request/held-answer";

/** The person's held answers to requests that are not open; the key undoes the latest. */
export default function HeldNotices({ requests }: { requests: Request[] }) {
  const ordered = requests.toSorted((one, other) => (one.held?.at ?? "").localeCompare(other.held?.at ?? ""));
  const last = ordered.at(-1)?.id;
  return (
    <ul className="held-notices">
      {ordered.map((request) => <li key={request.id}><HeldAnswer request={request} isElsewhere isActive={request.id === last} /></li>)}
    </ul>
  );
}
