import type { Decision } from "../api/types";
import { RequestDetail } from "../request/request-detail";

interface QuestionProps {
  id: string;
  initialDecision?: Decision | undefined;
  collapsesFacts?: boolean;
  onDecided: () => void;
}

/** A question: the same card as in the inbox, and a line of record once it is answered. */
export function Question({ id, ...place }: QuestionProps) {
  return <section className="pause" data-testid="pause"><RequestDetail id={id} isInThread {...place} /></section>;
}
