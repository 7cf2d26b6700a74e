/* Written by `npm run api` from the server's OpenAPI document: change the models there, not this file. */

export type Json = string | number | boolean | null | Json[] | JsonObject;
export type JsonObject = {[key: string]: Json};

/**
 * A person who is away until a time, and their deputy.
 */
export interface Absence {
  person: string;
  deputy: string;
  until: string;
  groups: string[];
}
/**
 * All absences of the tenant, the first to end first.
 */
export interface AbsencePage {
  items: Absence[];
  next: null;
}
/**
 * What an auditor read at about the same time.
 */
export interface Access {
  at: string;
  by: string;
  read: string[];
}
/**
 * A page of the access log, oldest first; `next` is the `after` of the following page.
 */
export interface AccessPage {
  items: Access[];
  next: string | null;
}
/**
 * The call that waits for consent: its name, its whole arguments, their JSON Schema.
 */
export interface Action {
  name: string;
  args?: JsonObject;
  schema?: JsonObject | null;
}
/**
 * A step that removes a reason.
 */
export interface ActionFix {
  kind: "ask" | "run_handler" | "run_action" | "wait" | "approve" | "reapprove";
  ref: string;
  label: string;
}
/**
 * The body of an action command.
 */
export interface ActionPress {
  agent?: string | null;
  args?: JsonObject;
  digest?: string | null;
}
/**
 * A reason why an action is not possible now.
 */
export interface ActionReason {
  code:
    | "MISSING_INFO"
    | "STALE_INFO"
    | "ERROR_INFO"
    | "DEPENDENCY"
    | "WORKFLOW"
    | "NO_PLAN"
    | "PLAN_OBSOLETE"
    | "AWAITING_APPROVAL"
    | "ALREADY_RUNNING";
  key: string;
  text: string;
  fix: ActionFix;
}
/**
 * An agent that callers can start.
 */
export interface Agent {
  name: string;
  title: string;
  description: string;
  input_schema: JsonObject;
  images: boolean;
}
/**
 * All agents.
 */
export interface AgentPage {
  items: Agent[];
  next: null;
}
/**
 * The totals of the amounts that the author of a tool declares.
 */
export interface Amounts {
  unit: string | null;
  sum: number;
  least: number;
  greatest: number;
}
/**
 * A person's answer: the decision, its data, and the digest of the request that the person saw.
 */
export interface Answer {
  decision: "approve" | "edit" | "reject" | "respond";
  digest: string;
  data?: JsonObject | null;
  args?: JsonObject | null;
  message?: string | null;
  override?: string | null;
  grant?: NewGrant | null;
}
/**
 * The later calls that an answer approves too, as the person chose them.
 */
export interface NewGrant {
  until: string;
  tool?: string | null;
  where?: {
    [k: string]: ConditionInput;
  } | null;
  thread_id?: string | null;
  folder?: string | null;
  max_uses?: number;
}
/**
 * A condition on an argument; if several fields are set, all of them must hold.
 *
 * If the argument is missing, or its type differs from the type in the condition, its effect on the tool is unknown.
 * Such a call waits for a person.
 */
export interface ConditionInput {
  equals?: {
    [k: string]: unknown;
  };
  one_of?: unknown[] | null;
  at_least?: number | null;
  at_most?: number | null;
  above?: number | null;
  below?: number | null;
  matches?: string | null;
  any?: {
    [k: string]: ConditionInput;
  } | null;
  all?: {
    [k: string]: ConditionInput;
  } | null;
  sum?: {
    [k: string]: ConditionInput;
  } | null;
  count?: ConditionInput | null;
}
/**
 * How long people took to answer, from the time at which a request was asked.
 */
export interface AnswerTimes {
  group: string | null;
  answers: number;
  median: number | null;
  p90: number | null;
}
/**
 * A question of an agent; all fields except the title have defaults.
 */
export interface Ask {
  title: string;
  id?: string | null;
  kind?: ("approval" | "form" | "choice" | "question" | "finish" | "learning") | null;
  description?: string | null;
  action?: Action | null;
  form?: Form | null;
  schema?: JsonObject | null;
  answer_schema?: JsonObject | null;
  allowed?: ("approve" | "edit" | "reject" | "respond")[] | null;
  actions?: Partial<Record<"approve" | "edit" | "reject" | "respond", Button>>;
  context?: JsonObject;
  thread_id?: string | null;
  run_id?: string | null;
  assignee?: string | null;
  /**
   * @maxItems 100
   */
  candidate_groups?: string[];
  priority?: ("low" | "normal" | "high" | "urgent") | null;
  due_at?: string | null;
  expires_in?: number | null;
  expires_at?: string | null;
  fallback?: JsonObject | null;
  /**
   * @maxItems 5
   */
  webhooks?: Webhook[];
  display?: (Table | Image | Code | Diff | Link)[] | null;
  wording?: Wording | null;
  tier?: ("low" | "medium" | "high" | "irreversible") | null;
  hold?: number | null;
  /**
   * @maxItems 10
   */
  quorum?: Stage[];
  exclude?: ("starter" | "asker")[];
  /**
   * @maxItems 10
   */
  escalation?: Escalation[];
}
/**
 * An ordered list of fields.
 */
export interface Form {
  /**
   * @minItems 1
   * @maxItems 100
   */
  fields: (
    Text | TextArea | Select | MultiSelect | Radio | Checkbox | Number | Slider | Date | DateTime | Boolean | Attachment
  )[];
}
/**
 * One line of text.
 */
export interface Text {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  min_length?: number | null;
  max_length?: number | null;
  default?: string | null;
  type: "text";
}
/**
 * Several lines of text.
 */
export interface TextArea {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  min_length?: number | null;
  max_length?: number | null;
  default?: string | null;
  type: "textarea";
}
/**
 * One of several options, in a list that opens.
 */
export interface Select {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  /**
   * @minItems 1
   * @maxItems 1000
   */
  options: Option[];
  default?: string | number | null;
  type: "select";
}
/**
 * One choice: the value that is stored, and the label that a person sees (by default the value).
 */
export interface Option {
  value: string | number;
  label?: string;
}
/**
 * Any number of several options, in a list that opens.
 */
export interface MultiSelect {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  /**
   * @minItems 1
   * @maxItems 1000
   */
  options: Option[];
  default?: (string | number)[] | null;
  type: "multiselect";
}
/**
 * One of several options, all visible.
 */
export interface Radio {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  /**
   * @minItems 1
   * @maxItems 1000
   */
  options: Option[];
  default?: string | number | null;
  type: "radio";
}
/**
 * Any number of several options, all visible.
 */
export interface Checkbox {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  /**
   * @minItems 1
   * @maxItems 1000
   */
  options: Option[];
  default?: (string | number)[] | null;
  type: "checkbox";
}
/**
 * A number; steps count from `min`, or from 0 without one.
 */
export interface Number {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  min?: number | null;
  max?: number | null;
  step?: number | null;
  default?: number | null;
  type: "number";
}
/**
 * A number between `min` and `max`, set by dragging.
 */
export interface Slider {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  min?: number | null;
  max?: number | null;
  step?: number | null;
  default?: number | null;
  type: "slider";
}
/**
 * A day, as YYYY-MM-DD.
 */
export interface Date {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  type: "date";
  min?: string | null;
  max?: string | null;
  default?: string | null;
}
/**
 * A time, as RFC 3339 with its offset from UTC; bounds with other offsets are compared correctly.
 */
export interface DateTime {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  type: "datetime";
  min?: string | null;
  max?: string | null;
  default?: string | null;
}
/**
 * Yes or no; for a required field, no is an answer too.
 */
export interface Boolean {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  type: "boolean";
  default?: boolean | null;
}
/**
 * A file of one of the media types, or of any if there are none; `Inbox.attachment` returns its bytes.
 */
export interface Attachment {
  name: string;
  label?: string;
  required?: boolean;
  placeholder?: string | null;
  help?: string | null;
  type: "attachment";
  media_types?: string[];
  max_size?: number;
  default?: null;
}
/**
 * A receiver that an ask names, for the events of this one request.
 */
export interface Webhook {
  url: string;
  headers?: {
    [k: string]: string;
  };
  secret_ref?: string | null;
  max_tries?: number | null;
}
/**
 * Rows of values under named columns.
 */
export interface Table {
  title?: string | null;
  type: "table";
  /**
   * @minItems 1
   * @maxItems 20
   */
  columns: string[];
  /**
   * @maxItems 200
   */
  rows: (string | number | boolean | null)[][];
}
/**
 * A PNG, JPEG, GIF or WebP; its bytes are part of the request, so that it cannot change after it was shown.
 */
export interface Image {
  title?: string | null;
  type: "image";
  data: string;
  alt: string;
}
/**
 * Text that is shown character by character.
 */
export interface Code {
  title?: string | null;
  type: "code";
  text: string;
  language?: string | null;
}
/**
 * What a text was and what it becomes.
 */
export interface Diff {
  title?: string | null;
  type: "diff";
  before: string;
  after: string;
}
/**
 * An address on the web; people see where it leads.
 */
export interface Link {
  title?: string | null;
  type: "link";
  url: string;
}
/**
 * The codes of Ringi's own sentences in a request; a text counts as translated only if it says the same.
 */
export interface Wording {
  /**
   * @maxItems 5
   */
  title?: Sentence[];
  /**
   * @maxItems 5
   */
  description?: Sentence[];
  /**
   * @maxItems 5
   */
  reason?: Sentence[];
}
/**
 * One of Ringi's own sentences: its code and the values in it.
 */
export interface Sentence {
  code: string;
  params?: {
    [k: string]: string | number;
  };
}
/**
 * One stage of a quorum.
 */
export interface Stage {
  /**
   * @maxItems 100
   */
  groups?: string[];
  count?: number;
}
/**
 * More people who may decide if nobody has after some time.
 */
export interface Escalation {
  after: number;
  /**
   * @minItems 1
   * @maxItems 100
   */
  to: string[];
}
/**
 * An action, with the reasons if it is not possible now.
 */
export interface AssistantAction {
  id: string;
  type: "plan" | "apply" | "selector" | "immediate" | "cancel";
  label: string;
  description: string;
  enabled: boolean;
  requiredInfo: string[];
  workflowName: string | null;
  handler: string | null;
  reasons: ActionReason[];
  have: number;
  need: number;
  immediate: boolean;
}
/**
 * All actions of an assistant, in the order of its definitions.
 */
export interface AssistantActionPage {
  items: AssistantAction[];
  next: null;
}
/**
 * The state of a conversation: its values, plans and actions, with their origins.
 */
export interface AssistantMemory {
  version: number;
  requiredInfoList: RequiredInfo[];
  currentInfoList: CurrentInfo[];
  planData: PlanData;
  availableActions: AvailableAction[];
  hitlState: HitlState;
  items: InfoItem[];
  runs: WorkflowRun[];
  asks: OpenAsk[];
  plans: AssistantPlan[];
  id: string;
  agent: string;
}
/**
 * One info that actions require.
 */
export interface RequiredInfo {
  type: string;
  description: string;
  status: "pending" | "collected" | "not_needed" | "error";
  source: string | null;
}
/**
 * One known value.
 */
export interface CurrentInfo {
  type: string;
  value: unknown;
  timestamp: string;
  source: string;
}
/**
 * A summary of the newest plan.
 */
export interface PlanData {
  status: "none" | "planning" | "planned" | "executing" | "completed" | "obsolete" | "failed" | "cancelled";
  plan: unknown;
  feedback: string[];
  lastUpdated: string | null;
}
/**
 * A summary of an action.
 */
export interface AvailableAction {
  id: string;
  type: "plan" | "apply" | "selector" | "immediate" | "cancel";
  label: string;
  description: string;
  enabled: boolean;
  requiredInfo: string[];
  workflowName: string | null;
  handler: string | null;
}
/**
 * Whether the conversation waits for a person, and for which answer.
 */
export interface HitlState {
  status: "waiting" | "completed" | "none";
  waitingFor: string | null;
}
/**
 * One info that the assistant can know, with its value and state.
 */
export interface InfoItem {
  key: string;
  title: string;
  description: string;
  status: "pending" | "collected" | "not_needed" | "error";
  value: unknown;
  version: number;
  observedAt: string | null;
  freshUntil: string | null;
  isFresh: boolean;
  how: "ask" | "handler" | "derived" | "static";
  scope: "thread" | "user";
  mayBeAny: boolean;
  source: InfoSource | null;
  error: string | null;
}
/**
 * The origin of a value.
 */
export interface InfoSource {
  kind: "user" | "handler" | "model" | "edited" | "derived" | "static" | "remembered" | "default";
  actor: string | null;
  ref: string | null;
  quote: string | null;
}
/**
 * The last run of a workflow.
 */
export interface WorkflowRun {
  workflow: string;
  status: string;
  at: string;
  error: string | null;
}
/**
 * An info that a person is being asked for.
 */
export interface OpenAsk {
  key: string;
  title: string;
  threadId: string;
  request: PlanRequest | null;
}
/**
 * The open approval request, if the caller may see it.
 */
export interface PlanRequest {
  id: string;
  digest: string;
  status: string;
}
/**
 * The newest version of a plan.
 */
export interface AssistantPlan {
  id: string;
  workflow: string;
  actionId: string;
  version: number;
  status: "none" | "planning" | "planned" | "executing" | "completed" | "obsolete" | "failed" | "cancelled";
  plan: unknown;
  steps: PlanStep[];
  hash: string;
  changed: ChangedInfo[];
  pinned: ChangedInfo[];
  defaults: DefaultInfo[];
  feedback: PlanFeedback[];
  versions: PlanVersion[];
  diff: PlanDiff;
  approval: PlanApproval | null;
  threadId: string | null;
  request: PlanRequest | null;
  error: string | null;
  updatedAt: string | null;
}
/**
 * One step of a plan.
 */
export interface PlanStep {
  id: string;
  title: string;
  action: string;
  args: JsonObject;
  isDone: boolean;
}
/**
 * An info whose value differs from the one that the plan was made from.
 */
export interface ChangedInfo {
  key: string;
  title: string;
}
/**
 * An info that nobody told, with the default that the plan is made from.
 */
export interface DefaultInfo {
  key: string;
  title: string;
  value: unknown;
}
/**
 * A remark of a person about a plan.
 */
export interface PlanFeedback {
  id: string;
  text: string;
  by: string;
  at: string;
  addressedIn: number | null;
}
/**
 * A version before the newest.
 */
export interface PlanVersion {
  version: number;
  status: "none" | "planning" | "planned" | "executing" | "completed" | "obsolete" | "failed" | "cancelled";
  plan: unknown;
  steps: PlanStep[];
}
/**
 * The differences from the previous version: steps by id, other content as `plan.<key>`.
 */
export interface PlanDiff {
  added: string[];
  removed: string[];
  changed: string[];
}
/**
 * The person who approved the plan, and the time.
 */
export interface PlanApproval {
  by: string;
  at: string;
}
/**
 * An attached file, as the answer's data contains it.
 */
export interface AttachedFile {
  number: number;
  name: string;
  size: number;
  media_type: string;
  sha256: string;
}
/**
 * One attempt of one delivery.
 */
export interface Attempt {
  at: string;
  status: "queued" | "waiting" | "delivered" | "failed" | "gone" | "disabled";
  code?: number | null;
  error?: string | null;
  seconds?: number | null;
  next_at?: string | null;
  by?: string | null;
}
/**
 * One change of one record, linked by its hash to the previous change.
 */
export interface AuditEvent {
  id: string;
  record: string;
  record_id: string;
  version: number;
  type: string;
  at: string;
  payload_digest: string;
  previous: string;
  hash: string;
  position: string;
  actor: string;
  changed: JsonObject;
}
/**
 * A page of the audit trail, oldest first; `next` is the `after` of the following page.
 */
export interface AuditPage {
  items: AuditEvent[];
  next: string | null;
}
/**
 * The caller's absence, and those in which the caller is the deputy.
 */
export interface Away {
  absence: Absence | null;
  deputy_for: Absence[];
}
/**
 * Several answers; each is accepted or refused independently.
 */
export interface BulkAnswer {
  /**
   * @minItems 1
   */
  items: BulkItem[];
}
/**
 * One answer of a bulk call.
 */
export interface BulkItem {
  decision: "approve" | "edit" | "reject" | "respond";
  digest: string;
  data?: JsonObject | null;
  args?: JsonObject | null;
  message?: string | null;
  override?: string | null;
  grant?: NewGrant | null;
  id: string;
}
/**
 * The result of one answer: its HTTP status, with the request or the problem.
 */
export interface BulkOutcome {
  id: string | null;
  status: number;
  request?: Request | null;
  problem?: Problem | null;
}
/**
 * A question for a person, its status and its answer.
 */
export interface Request {
  tenant: string;
  id: string;
  version: number;
  created_at: string;
  erased: Erased | null;
  kind: "approval" | "form" | "choice" | "question" | "finish" | "learning";
  title: string;
  description: string | null;
  action: Action | null;
  form: Form | null;
  schema: JsonObject | null;
  answer_schema: JsonObject | null;
  allowed: ("approve" | "edit" | "reject" | "respond")[];
  actions: Partial<Record<"approve" | "edit" | "reject" | "respond", Button>>;
  context: JsonObject;
  thread_id: string | null;
  run_id: string | null;
  status: "pending" | "completed" | "cancelled" | "expired";
  response: Response | null;
  assignee: string | null;
  candidate_groups: string[];
  claimed_by: string | null;
  claimed_until: string | null;
  priority: ("low" | "normal" | "high" | "urgent") | null;
  due_at: string | null;
  expires_at: string | null;
  fallback: JsonObject | null;
  display: (Table | Image | Code | Diff | Link)[] | null;
  wording?: Wording | null;
  reason: string | null;
  attention: string | null;
  acknowledged_at: string | null;
  receipt?: Receipt | null;
  ended_at: string | null;
  asked_by: string | null;
  agent: string | null;
  policy?: PolicySource | null;
  tier?: ("low" | "medium" | "high" | "irreversible") | null;
  hold?: number | null;
  quorum?: Stage[];
  exclude?: ("starter" | "asker")[];
  escalation?: Escalation[];
  first_of_kind?: boolean;
  starter?: string | null;
  votes?: Vote[];
  missing?: Stage[] | null;
  held?: Held | null;
  escalated?: number;
  legal_hold?: boolean;
  check_result?: CheckResult | null;
  unanswerable?: boolean;
  digest: string;
}
/**
 * The erasure of a record's content: time, actor and reason.
 */
export interface Erased {
  at: string;
  by: string;
  rule: "request" | "person" | "age";
}
/**
 * The one decision on a request.
 */
export interface Response {
  decision: "approve" | "edit" | "reject" | "respond";
  data?: JsonObject | null;
  args?: JsonObject | null;
  message?: string | null;
  responder: string;
  channel: string;
  at: string;
  authorised_digest?: string | null;
  for?: string | null;
  voters?: string[];
  released_at?: string | null;
  override?: string | null;
  grant?: Grant | null;
  ended_rules?: string[];
  grant_use?: GrantUse | null;
}
/**
 * The calls that one answer approves, with everything that limits them.
 */
export interface Grant {
  tool: string;
  where?: {
    [k: string]: ConditionOutput;
  } | null;
  args_digest?: string | null;
  names?: string[];
  asked_by: string | null;
  agent: string | null;
  people: string;
  stakes?: number;
  thread_id: string | null;
  folder: string | null;
  max_uses: number;
  until: string;
  one_in?: number;
}
/**
 * This interface was referenced by `Root`'s JSON-Schema
 * via the `definition` "Condition-Output".
 */
export interface ConditionOutput {}
/**
 * The use of a grant that approved a call.
 */
export interface GrantUse {
  id: string;
  digest: string;
  number: number;
}
/**
 * What became of an approved call.
 */
export interface Receipt {
  outcome: "committed" | "failed" | "unknown";
  result_digest?: string | null;
  attempt?: string | null;
}
/**
 * The rule of a policy that asked or decided, as the process that applied it states.
 */
export interface PolicySource {
  rule: string;
  digest: string;
  card?: boolean;
}
/**
 * One person's decision that is not yet enough, or is not yet final.
 */
export interface Vote {
  responder: string;
  subject?: string;
  for?: string | null;
  decision: "approve" | "edit" | "reject" | "respond";
  data?: JsonObject | null;
  args?: JsonObject | null;
  message?: string | null;
  channel: string;
  authorised_digest?: string | null;
  stage?: number;
  at: string;
  override?: string | null;
  for_subject?: string | null;
  ended_rules?: string[];
  grant?: Grant | null;
}
/**
 * A decision that its person may still undo.
 */
export interface Held {
  responder: string;
  subject?: string;
  for?: string | null;
  decision: "approve" | "edit" | "reject" | "respond";
  data?: JsonObject | null;
  args?: JsonObject | null;
  message?: string | null;
  channel: string;
  authorised_digest?: string | null;
  stage?: number;
  at: string;
  override?: string | null;
  for_subject?: string | null;
  ended_rules?: string[];
  grant?: Grant | null;
  until: string;
}
/**
 * A request that was a check, and whether it was noticed: only an ended request has it.
 */
export interface CheckResult {
  expected: "reject" | "edit";
  because: string;
  caught: boolean | null;
}
/**
 * A problem document: the reason for refusing a call (RFC 9457).
 */
export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors?: FieldProblem[] | null;
  state?: ("pending" | "completed" | "cancelled" | "expired") | null;
  winner?: Winner | null;
  claimed_by?: string | null;
}
/**
 * A validation error of one field.
 */
export interface FieldProblem {
  field: string;
  message: string;
  code: string;
  params: JsonObject;
}
/**
 * The answer that arrived first and was accepted.
 */
export interface Winner {
  decision: "approve" | "edit" | "reject" | "respond";
  responder: string;
  at: string;
}
/**
 * The results of a bulk call, in the order of its answers.
 */
export interface BulkResult {
  items: BulkOutcome[];
  next: null;
}
/**
 * Content of a bullet before and after a change.
 */
export interface BulletChangeView {
  bullet: string;
  before: BulletContent | null;
  after: BulletContent;
}
/**
 * Content of a bullet.
 */
export interface BulletContent {
  section: string;
  text: string;
  applies_when: string;
  isActive: boolean;
  mergedInto: string | null;
}
/**
 * A bullet and its history.
 */
export interface BulletHistory {
  id: string;
  section: string;
  text: string;
  applies_when: string;
  isActive: boolean;
  mergedInto: string | null;
  helpful: number;
  harmful: number;
  used: number;
  created: number;
  changed: number;
  type: ("new_strategy" | "refine_strategy" | "error_pattern") | null;
  hash: string;
  history: PlaybookEntry[];
}
/**
 * One entry of a playbook's history.
 */
export interface PlaybookEntry {
  version: number;
  at: string;
  op: "add" | "edit" | "merge" | "retire" | "restore" | "undo" | "tag" | "reject" | "keep";
  by: string;
  approvedBy: string | null;
  rejectedBy: string | null;
  requestId: string | null;
  threadId: string | null;
  runId: string | null;
  reason: string | null;
  undoes: number | null;
  changes: BulletChangeView[];
  tags: BulletTagView[];
  evidence: InsightEvidence[];
  text: string | null;
  refused: ("add" | "edit" | "merge" | "retire" | "restore" | "undo" | "tag" | "reject" | "keep") | null;
  bullets: string[];
}
/**
 * Effect of a bullet on an answer.
 */
export interface BulletTagView {
  bullet: string;
  tag: "helpful" | "harmful" | "neutral" | "used";
}
/**
 * A quote that was found in its source.
 */
export interface InsightEvidence {
  where: "question" | "answer" | "feedback" | "note" | "playbook";
  ref: string | null;
  quote: string;
  start: number;
  end: number;
  threadId: string;
  runId: string;
}
/**
 * The label, style and value of one decision on the page.
 */
export interface Button {
  label?: string | null;
  style?: ("primary" | "default" | "secondary" | "danger") | null;
  value?: {
    [k: string]: unknown;
  };
}
/**
 * The reason for canceling a request.
 */
export interface Cancel {
  reason?: string | null;
}
/**
 * A page of a thread's history: newest page first, and in chronological order within a page.
 */
export interface Chat {
  id: string;
  agent: string;
  runs: ChatRun[];
  next: string | null;
}
/**
 * One run of a chat, which is one message of the agent even if the run paused.
 */
export interface ChatRun {
  id: string;
  messages: JsonObject[];
  parts: JsonObject[];
}
/**
 * The body that `useChat` sends; only the newest message is used, the server stores the others.
 */
export interface ChatTurn {
  id: string;
  /**
   * @minItems 1
   */
  messages: unknown[];
  trigger?: "submit-message" | "regenerate-message";
  messageId?: string | null;
  agent?: string | null;
}
/**
 * How a check is made from a recent real request of a tool: one argument is made wrong, or the call is replaced.
 */
export interface CheckRecipe {
  tool: string;
  expect?: "reject" | "edit";
  because: string;
  set?: JsonObject | null;
  times?: {
    [k: string]: number;
  } | null;
  args?: JsonObject | null;
  agent?: string | null;
  title?: string | null;
  description?: string | null;
}
/**
 * The planted checks, newest first, and the shares that people noticed.
 */
export interface CheckReport {
  items: CheckView[];
  tools: CheckShare[];
  people: CheckShare[];
  next?: null;
}
/**
 * A check and its answer, for administrators and auditors.
 */
export interface CheckView {
  id: string;
  tool: string;
  created_at: string;
  status: string;
  expected: "reject" | "edit";
  because: string;
  people?: string[];
  caught?: boolean | null;
  decided_at?: string | null;
}
/**
 * How many checks of a tool or a person were noticed.
 */
export interface CheckShare {
  name: string;
  newest: number;
  newest_caught: number;
  total: number;
  caught: number;
  alarm: boolean;
}
/**
 * A number of records, counted up to 999.
 */
export interface Count {
  count: number;
  more: boolean;
}
/**
 * The numbers of requests that the caller may read.
 */
export interface Counts {
  pending: Count;
  mine: Count;
  ended?: Count | null;
}
/**
 * How requests ended: first the decisions of people, then how else they ended, then calls that nobody was asked.
 */
export interface DecisionCounts {
  approved: number;
  edited: number;
  rejected: number;
  answered: number;
  declined: number;
  expired: number;
  cancelled: number;
  policy_approved: number;
  policy_rejected: number;
  grant_approved: number;
}
/**
 * One event on its way to one receiver.
 */
export interface Delivery {
  id: string;
  request_id: string;
  event: string;
  type: string;
  happened_at: string;
  endpoint: string;
  host: string;
  status: "queued" | "waiting" | "delivered" | "failed" | "gone" | "disabled";
  next_at: string | null;
  tries: Attempt[];
}
/**
 * The deliveries of a request, oldest first.
 */
export interface DeliveryPage {
  items: Delivery[];
  next: null;
}
/**
 * A bullet that is in only one of two versions.
 */
export interface DiffBullet {
  id: string;
  section: string;
  text: string;
  applies_when: string;
}
/**
 * A bullet whose content differs between two versions.
 */
export interface DiffChange {
  id: string;
  before: DiffBullet;
  after: DiffBullet;
}
/**
 * A decision on pending insights.
 */
export interface EngrammerContinue {
  threadId: string;
  userInput: "approve_learning" | "reject_learning";
  insights?: InsightReference[] | null;
  reason?: string | null;
}
/**
 * An insight, with the digest that the caller saw.
 */
export interface InsightReference {
  id: string;
  digest: string;
}
/**
 * State of a conversation after its runs resumed.
 */
export interface EngrammerContinued {
  status: "done" | "error" | "interrupted";
  error: string | null;
}
/**
 * A conversation with the turns of all its threads.
 */
export interface EngrammerConversation {
  id: string;
  agent: string;
  status: "idle" | "running" | "interrupted" | "done" | "error";
  turns: EngrammerTurn[];
  pending: string[];
  error: string | null;
}
/**
 * A question or feedback on an answer, and its results.
 */
export interface EngrammerTurn {
  runId: string;
  threadId: string;
  query: string;
  response: string | null;
  references: Reference[];
  bullets: string[];
  at: string;
  phase: "answering" | "reflecting" | "reviewing" | "done";
  feedback: InsightFeedback | null;
  reflected: ReflectionSummary | null;
  insights: InsightView[];
  suppressed: SuppressedInsight[];
  droppedQuotes: number;
  unsupportedInsights: number;
  usage: TurnUsage;
  parent: string | null;
  error: string | null;
}
/**
 * A note that the answer is based on.
 */
export interface Reference {
  source: string;
  noteId: string;
}
/**
 * Judgement of an answer; the source `self` means only the agent judged it.
 */
export interface InsightFeedback {
  source: "ground_truth" | "environment" | "user" | "self";
  verdict: "right" | "wrong" | "unknown";
  text: string;
  by: string | null;
}
/**
 * The agent's reflection on its answer.
 */
export interface ReflectionSummary {
  verdict: string | null;
  error: string | null;
  rootCause: string | null;
  correctApproach: string | null;
  keyInsight: string | null;
  failed: string | null;
}
/**
 * A proposed insight of a turn and its status.
 */
export interface InsightView {
  id: string;
  type: "new_strategy" | "refine_strategy" | "error_pattern";
  text: string;
  section: string;
  applies_when: string | null;
  why: string;
  sourceBulletId: string | null;
  op: "add" | "edit" | "merge" | "retire";
  sources: string[];
  evidence: InsightEvidence[];
  feedback: InsightFeedback | null;
  status: "pending" | "learned" | "edited" | "rejected" | "expired" | "cancelled" | "obsolete";
  request: InsightRequest | null;
  version: number | null;
  reason: string | null;
  contradicts: string[];
  contradictsPlaybook: boolean;
  isOwnOpinion: boolean;
}
/**
 * The request for approval, if the caller may read it.
 */
export interface InsightRequest {
  id: string;
  digest: string;
  status: "pending" | "completed" | "cancelled" | "expired";
}
/**
 * An insight that was not proposed because a person rejected nearly the same text.
 */
export interface SuppressedInsight {
  text: string;
  reason: string | null;
  at: string | null;
}
/**
 * Model usage of a turn.
 */
export interface TurnUsage {
  answer: ModelUsage | null;
  reflect: ModelUsage | null;
}
/**
 * Model usage, in tokens as counted by the provider.
 */
export interface ModelUsage {
  calls: number;
  input: number;
  output: number;
  cached: number;
}
/**
 * A note; further columns of its source are added as they are.
 */
export interface EngrammerNote {
  id: string;
  type: string;
  title: string;
  content: string;
  createdAt: string;
  source: string;
}
/**
 * A question in a conversation.
 */
export interface EngrammerQuestion {
  query: string;
  expected?: string | null;
  agent?: string | null;
}
/**
 * A run that continues in the background.
 */
export interface EngrammerRun {
  thread_id: string;
  run_id: string;
  id: string;
}
/**
 * A question; without a thread it starts a conversation.
 */
export interface EngrammerStart {
  query: string;
  threadId?: string | null;
  agent?: string | null;
  expected?: string | null;
}
/**
 * The id of the started conversation.
 */
export interface EngrammerStarted {
  threadId: string;
}
/**
 * State of a conversation.
 */
export interface EngrammerState {
  status: "running" | "interrupted" | "done" | "error";
  latestResponse: string | null;
  pendingInsights: PendingInsight[] | null;
  references: Reference[] | null;
  error: string | null;
}
/**
 * An insight that awaits a decision.
 */
export interface PendingInsight {
  type: "new_strategy" | "refine_strategy" | "error_pattern";
  description: string;
  source_bullet_id: string | null;
  id: string;
  digest: string;
}
/**
 * Names the conversation to read.
 */
export interface EngrammerStateQuery {
  threadId: string;
}
/**
 * The result of an erasure, or of a dry run.
 */
export interface Erasure {
  requests?: string[];
  threads?: string[];
  journals?: string[];
  left?: {
    [k: string]: string;
  };
  upto?: string;
  next?: string | null;
}
/**
 * Approvals by people in under two seconds.
 */
export interface FastApprovals {
  measured_from: "seen" | "asked";
  approvals: number;
  under_2s: number;
}
/**
 * The data of one server-sent event of the feed.
 */
export interface FeedEvent {
  type: string;
  position: string;
  at: string;
  actor: string;
  request?: Request | null;
  gone?: string | null;
}
/**
 * The grants of a tenant that have not ended by time, oldest first.
 */
export interface GrantPage {
  items: GrantView[];
  next: null;
}
/**
 * A grant with its scope and its uses, as people see it.
 */
export interface GrantView {
  id: string;
  status: "active" | "revoked" | "used up" | "ended";
  uses: number;
  granted_by: string;
  granted_at: string;
  title: string;
  digest: string;
  grant: Grant;
  refuted_by?: string | null;
}
/**
 * The health of the server.
 */
export interface Health {
  status: "ok" | "ready";
  store?: string | null;
  durability?: string | null;
}
/**
 * An image of a message.
 */
export interface ImageUpload {
  name?: string;
  data: string;
}
/**
 * Information about this server.
 */
export interface Info {
  scripted: boolean;
  model: string | null;
  version: string;
}
/**
 * The `context.learning` of a request of kind `learning`.
 */
export interface LearningContext {
  insight: string;
  type: "new_strategy" | "refine_strategy" | "error_pattern";
  why: string;
  source_bullet_id: string | null;
  evidence: LearningEvidence[];
  similar: SimilarBulletView[];
  feedback: InsightFeedback;
  tokens: number;
  room: number;
  before: string | null;
  playbook: string;
  version: number;
  renewed: string | null;
  trial: LearningTrial | null;
  question: string;
  answer: string;
  thread_id: string;
  run_id: string;
}
/**
 * A quote that was found in its source.
 */
export interface LearningEvidence {
  where: "question" | "answer" | "feedback" | "note" | "playbook";
  ref: string | null;
  quote: string;
  start: number;
  end: number;
  thread_id: string;
  run_id: string;
}
/**
 * A bullet similar to the proposal; it may contradict it.
 */
export interface SimilarBulletView {
  bullet: string;
  text: string;
  score: number;
  flags: ("same" | "number" | "negation" | "swap")[];
}
/**
 * Results of the test questions without and with the proposal.
 */
export interface LearningTrial {
  cases: number;
  right_before: number;
  right_after: number;
  wins: string[];
  losses: string[];
  failed: string | null;
}
/**
 * A proposed playbook operation: the action arguments of a `learning` request.
 */
export interface LearningOperation {
  op: "add" | "edit" | "merge" | "retire";
  section: string;
  text: string;
  applies_when?: string;
  bullet: string | null;
  sources: string[];
  base: {
    [k: string]: string;
  };
}
/**
 * The caller's deputy, and the end of the absence.
 */
export interface Leave {
  deputy: string;
  until: string;
  unknown?: boolean;
}
/**
 * The reason for a legal hold; the audit trail records it.
 */
export interface LegalHold {
  reason: string;
}
/**
 * An answer that the caller allowed agents to use in later threads.
 */
export interface Memory {
  id: string;
  category: string;
  question: string;
  answer: JsonObject;
  form: Form | null;
  schema: JsonObject | null;
  answered_at: string;
  edited_at: string | null;
  thread_id: string | null;
  place: string;
}
/**
 * One change of the memory.
 */
export interface MemoryChange {
  number: number;
  at: string;
  op: string;
  key: string;
  title: string;
  source: InfoSource;
  before: unknown;
  after: unknown;
}
/**
 * The changes, newest first. Only the newest changes are stored, and always the newest of each info.
 */
export interface MemoryChangePage {
  items: MemoryChange[];
  next: string | null;
}
/**
 * The complete new content of a memory.
 */
export interface MemoryEdit {
  data: JsonObject;
  told_at?: string | null;
}
/**
 * A page of memories, newest question first.
 */
export interface MemoryPage {
  items: Memory[];
  next: string | null;
}
/**
 * The calls of one model by the newest run of a thread.
 */
export interface ModelCalls {
  model: string;
  calls: number;
  unreported_calls: number;
  input_tokens: number | null;
  cached_tokens: number | null;
  output_tokens: number | null;
  seconds: number;
  cost: number | null;
  currency: string | null;
}
/**
 * The decisions about the calls of one agent, or of one tool.
 */
export interface NamedDecisions {
  name: string;
  decisions: DecisionCounts;
}
/**
 * Checks to plant.
 */
export interface NewChecks {
  /**
   * @minItems 1
   * @maxItems 100
   */
  checks: CheckRecipe[];
  share?: number | null;
}
/**
 * The agent to pause, and why.
 */
export interface NewPause {
  agent?: string | null;
  reason: string;
  until?: string | null;
}
/**
 * How long a suggested rule applies, how often, and how many of its calls people still see.
 */
export interface NewRule {
  until?: string | null;
  max_uses?: number;
  one_in?: number;
}
/**
 * The agent, input and images of a new run.
 */
export interface NewRun {
  agent: string;
  input?: JsonObject;
  /**
   * @maxItems 4
   */
  images?: ImageUpload[];
}
/**
 * The action is not possible now.
 */
export interface NotPossible {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  errors?: FieldProblem[] | null;
  state?: ("pending" | "completed" | "cancelled" | "expired") | null;
  winner?: Winner | null;
  claimed_by?: string | null;
  reasons: ActionReason[];
}
/**
 * Names the note to read.
 */
export interface NoteQuery {
  source: string;
  noteId: string;
  agent?: string | null;
}
/**
 * The reason for canceling, retrying or abandoning a run; the audit trail records it.
 */
export interface Operation {
  reason?: string | null;
}
/**
 * How people decided in a period, by days in UTC, and which part of the audit trail the figures cover.
 */
export interface OversightReport {
  tenant: string;
  since: string;
  until: string;
  made_at: string;
  version: string;
  complete: boolean;
  share: number;
  position: string;
  head: string;
  error: number;
  total: OversightRow;
  rules: OversightRow[];
  tools: OversightRow[];
  groups: OversightRow[];
}
/**
 * What happened to the calls and questions of one rule, tool or group.
 */
export interface OversightRow {
  name: string | null;
  asked: number;
  decided_by_people: number;
  decided_by_policy: number;
  decided_by_grant: number;
  edited: number;
  rejected: number;
  expired: number;
  cancelled: number;
  seen: number;
  median: number | null;
  p90: number | null;
  fast: FastApprovals[];
  checks: number;
  caught: number;
}
/**
 * Figures about the requests that the caller may read, by days in UTC.
 */
export interface OverviewFigures {
  since: string;
  until: string;
  by: "hour" | "day";
  as_of: string;
  complete: boolean;
  share: number;
  error: number;
  queue: QueuePoint[];
  pending: number;
  oldest: string | null;
  decisions: DecisionCounts;
  agents: NamedDecisions[];
  tools: NamedDecisions[];
  times: AnswerTimes[];
  fast: FastApprovals[];
}
/**
 * One hour or day of the queue.
 */
export interface QueuePoint {
  at: string;
  pending: number;
  asked: number;
  ended: number;
}
/**
 * A pause of one agent, or of all agents of a tenant.
 */
export interface Pause {
  id: string;
  agent?: string | null;
  reason: string;
  by: string;
  since: string;
  until?: string | null;
}
/**
 * The pauses in force, oldest first.
 */
export interface PausePage {
  items: Pause[];
  next: null;
}
/**
 * People and groups that the caller knows of, the most frequent first.
 */
export interface People {
  people: string[];
  groups: string[];
}
/**
 * The requests that were planted.
 */
export interface PlantedChecks {
  ids: string[];
}
/**
 * One bullet of a playbook.
 */
export interface PlaybookBullet {
  id: string;
  section: string;
  text: string;
  applies_when: string;
  isActive: boolean;
  mergedInto: string | null;
  helpful: number;
  harmful: number;
  used: number;
  created: number;
  changed: number;
  type: ("new_strategy" | "refine_strategy" | "error_pattern") | null;
  hash: string;
}
/**
 * A change that a person makes to a playbook directly.
 */
export interface PlaybookChange {
  op: "add" | "edit" | "retire" | "restore" | "merge" | "undo";
  bullet?: string | null;
  /**
   * @maxItems 100
   */
  sources?: string[];
  section?: ("strategies" | "formulas" | "mistakes" | "heuristics" | "context" | "others") | null;
  text?: string | null;
  applies_when?: string | null;
  base?: string | null;
  version?: number | null;
  reason?: string | null;
}
/**
 * Differences between two versions of the active bullets.
 */
export interface PlaybookDiffView {
  from: number;
  to: number;
  added: DiffBullet[];
  removed: DiffBullet[];
  changed: DiffChange[];
}
/**
 * History of a playbook, newest first.
 */
export interface PlaybookHistory {
  items: PlaybookEntry[];
  next: string | null;
}
/**
 * Statistics about the proposals.
 */
export interface PlaybookMeasures {
  proposed: number;
  approved: number;
  edited: number;
  rejected: number;
  reverted: number;
  precision: number | null;
}
/**
 * The playbooks of the Engrammers on this server.
 */
export interface PlaybookPage {
  items: PlaybookSummary[];
  next: null;
}
/**
 * Summary of a playbook.
 */
export interface PlaybookSummary {
  id: string;
  agent: string;
  version: number;
  bullets: number;
  tokens: number;
  budget: number;
  waiting: number;
}
/**
 * A playbook at one version.
 */
export interface PlaybookView {
  id: string;
  agent: string;
  version: number;
  head: number;
  tokens: number;
  budget: number;
  text: string;
  bullets: PlaybookBullet[];
  rejected: RejectedText[];
  measures: PlaybookMeasures;
}
/**
 * A text that a person rejected.
 */
export interface RejectedText {
  text: string;
  at: string;
  op: "add" | "edit" | "merge" | "retire" | "restore" | "undo" | "tag" | "reject" | "keep";
  requestId: string | null;
  reason: string | null;
  bullet: string | null;
}
/**
 * How people decided the calls of a tool in the last 30 days, among the requests that the reader may see.
 */
export interface Precedent {
  since: string;
  counts: PrecedentCounts;
  /**
   * @maxItems 200
   */
  amounts: PrecedentAmount[];
  last: PrecedentCall | null;
  is_partial: boolean;
}
/**
 * The number of decisions of each kind.
 */
export interface PrecedentCounts {
  approved?: number;
  edited?: number;
  rejected?: number;
  expired?: number;
}
/**
 * The amount of one earlier call.
 */
export interface PrecedentAmount {
  amount: number;
  outcome: "approved" | "edited" | "rejected" | "expired";
  at: string;
}
/**
 * The last decided call of the same agent and tool with the same tier.
 */
export interface PrecedentCall {
  id: string;
  outcome: "approved" | "edited" | "rejected" | "expired";
  at: string;
  responder: string | null;
  args: JsonObject;
}
/**
 * The new assignee or groups of a request.
 */
export interface Reassignment {
  assignee?: string | null;
  /**
   * @maxItems 100
   */
  candidate_groups?: string[];
  unknown?: boolean;
}
/**
 * A page of requests, newest first or in the order `urgent` or `ended`.
 */
export interface RequestPage {
  items: Request[];
  next: string | null;
  now?: string | null;
  due_soon_until?: string | null;
}
/**
 * A run that was started and continues in the background.
 */
export interface RunStarted {
  thread_id: string;
  run_id: string;
}
/**
 * The signed-in person.
 */
export interface Session {
  name: string;
  role: "agent" | "person" | "admin" | "auditor";
  tenant: string;
  groups: string[];
}
/**
 * A token, or the code of a one-use link, to exchange for a cookie.
 */
export interface SignIn {
  token: string;
  replace?: boolean;
}
/**
 * A rule that a person may switch on, with the figures that speak for it.
 */
export interface Suggestion {
  id: string;
  tool: string;
  agent: string | null;
  asked_by: string | null;
  where: {
    [k: string]: ConditionOutput;
  };
  decisions: number;
  approved: number;
  replayed: number;
  covered: number;
  newer: number;
  newer_covered: number;
  template: string;
}
/**
 * The rules that the decisions of people suggest.
 */
export interface SuggestionPage {
  items: Suggestion[];
  next?: null;
}
/**
 * The selection of an erasure: all data of one person, or all data that ended before a time.
 */
export interface Sweep {
  person?: string | null;
  before?: string | null;
  dry_run?: boolean;
  after?: string;
}
/**
 * A conversation with an agent, and its pending requests.
 */
export interface Thread {
  id: string;
  agent: string;
  title: string | null;
  status: "idle" | "running" | "interrupted" | "done" | "error";
  run_id: string | null;
  values: JsonObject;
  error: string | null;
  attention: string | null;
  can_ask_again: boolean;
  reason: string | null;
  started_by: string | null;
  created_at: string;
  updated_at: string;
  erased: Erased | null;
  pending: Request[];
  usage: ModelCalls[];
  /**
   * For admins only
   */
  traceback?: string | null;
}
/**
 * A page of threads, newest first.
 */
export interface ThreadPage {
  items: ThreadSummary[];
  next: string | null;
}
/**
 * A conversation with an agent.
 */
export interface ThreadSummary {
  id: string;
  agent: string;
  title: string | null;
  status: "idle" | "running" | "interrupted" | "done" | "error";
  run_id: string | null;
  values: JsonObject;
  error: string | null;
  attention: string | null;
  can_ask_again: boolean;
  reason: string | null;
  started_by: string | null;
  created_at: string;
  updated_at: string;
  erased: Erased | null;
}
/**
 * The pending requests that some filters select, counted up to 999.
 */
export interface Totals {
  count: number;
  more: boolean;
  tiers: ("low" | "medium" | "high" | "irreversible")[];
  amounts: Amounts | null;
}
/**
 * One run that cannot go on by itself.
 */
export interface Trouble {
  kind: "thread" | "request";
  thread_id: string;
  run_id: string | null;
  request_id?: string | null;
  agent: string | null;
  title?: string | null;
  status: string;
  since: string;
  why: string;
  can_retry: boolean;
  can_ask_again?: boolean;
}
/**
 * Runs that need an operator: failed threads first, then stranded requests.
 */
export interface TroublePage {
  items: Trouble[];
  next: string | null;
}
/**
 * A person's feedback on an answer.
 */
export interface TurnFeedback {
  verdict: "right" | "wrong";
  text?: string;
  turn?: string | null;
}
/**
 * A file for a field of a request.
 */
export interface Upload {
  field: string;
  name: string;
  data: string;
}
/**
 * The ways to sign in other than by a token.
 */
export interface Ways {
  oidc: boolean;
}

export const feedEvents = [
  "request.created",
  "request.claimed",
  "request.released",
  "request.reassigned",
  "request.escalated",
  "request.voted",
  "request.held",
  "request.unheld",
  "request.withdrawn",
  "request.completed",
  "request.expired",
  "request.cancelled",
  "request.attention",
  "request.retried",
  "request.erased",
] as const;

export const auditEvents = [
  "request.seen",
  "request.acknowledged",
  "request.reminded",
  "request.memory_edited",
  "request.memory_deleted",
] as const;

export const tenantEvents = [
  "pauses.changed",
] as const;
