import type {
  EngrammerConversation, EngrammerNote, EngrammerTurn, InsightFeedback, LearningEvidence, PlaybookBullet,
  PlaybookEntry, SimilarBulletView,
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
export type Turn = EngrammerTurn;
