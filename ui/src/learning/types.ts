import type {
  EngrammerConversation, EngrammerNote, EngrammerTurn, InsightFeedback, LearningContext, LearningEvidence, LearningOperation, PlaybookBullet, PlaybookEntry,
  SimilarBulletView,
} from "../api/schema";

export type {
  BulletHistory, EngrammerRun, InsightView as Insight, PlaybookDiffView as PlaybookDiff, PlaybookSummary, PlaybookView as Playbook, Reference, ReflectionSummary,
} from "../api/schema";
export type Bullet = PlaybookBullet;
export type Conversation = EngrammerConversation;
export type Entry = PlaybookEntry;
export type Evidence = LearningEvidence;
export type Feedback = InsightFeedback;
export type Like = SimilarBulletView;
export type Note = EngrammerNote;
export type Operation = LearningOperation;
export type Turn = EngrammerTurn;
/** How questions with known answers were answered without a proposal, and with it. */
export interface Trial {
  cases: number;
  rightBefore: number;
  rightAfter: number;
  wins: string[];
  losses: string[];
  failed: string | null;
}
/** What of a proposal the page shows. */
export type ProposalContext = Omit<LearningContext, "insight" | "evidence" | "trial"> & { evidence: Pick<Evidence, "where" | "ref" | "quote">[]; trial: Trial | null };
