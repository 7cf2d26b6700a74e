import type { Decision } from "../api/types";
import { RequestDetail } from "../request/request-detail";

interface QuestionProps {
  id: string;
  initialDecision?: Decision | undefined;
  collapsesFacts?: boolean;
  onDecided: () => void;
}

/** A request in a chat: the same form as in the inbox, and one line once it is answered. */
export function Question({ id, ...place }: QuestionProps) {
  return <section className="pause" data-testid="pause"><RequestDetail id={id} isInThread {...place} /></section>;
}
