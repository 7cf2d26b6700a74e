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
export type SimilarBullet = SimilarBulletView;
export type Note = EngrammerNote;
export type Operation = LearningOperation;
export type Turn = EngrammerTurn;
/** The results of test questions without and with a proposal. */
export interface Trial {
  cases: number;
  rightBefore: number;
  rightAfter: number;
  wins: string[];
  losses: string[];
  failed: string | null;
}
/** The part of a proposal that the page shows. */
export type ProposalContext = Omit<LearningContext, "insight" | "evidence" | "trial"> & { evidence: Pick<Evidence, "where" | "ref" | "quote">[]; trial: Trial | null };
