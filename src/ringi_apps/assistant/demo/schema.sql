CREATE TABLE people (
  id TEXT PRIMARY KEY,
  name_en TEXT NOT NULL,
  name_ja TEXT NOT NULL,
  role_en TEXT NOT NULL,
  role_ja TEXT NOT NULL,
  team TEXT NOT NULL,
  language TEXT NOT NULL,
  weekly_hours INTEGER NOT NULL,
  booked_hours INTEGER NOT NULL,
  preferences TEXT NOT NULL
);

CREATE TABLE projects (
  id TEXT PRIMARY KEY,
  name_en TEXT NOT NULL,
  name_ja TEXT NOT NULL,
  goal_en TEXT NOT NULL,
  goal_ja TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planning', 'active', 'on_hold', 'done')),
  owner TEXT NOT NULL REFERENCES people,
  starts_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  budget INTEGER NOT NULL,
  spent INTEGER NOT NULL
);

CREATE TABLE milestones (
  id TEXT PRIMARY KEY,
  project TEXT NOT NULL REFERENCES projects,
  name_en TEXT NOT NULL,
  name_ja TEXT NOT NULL,
  starts_on TEXT NOT NULL,
  due_on TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('open', 'active', 'late', 'blocked', 'done')),
  owner TEXT NOT NULL REFERENCES people,
  key TEXT UNIQUE
);

CREATE TABLE leads (
  id TEXT PRIMARY KEY,
  company_en TEXT NOT NULL,
  company_ja TEXT NOT NULL,
  industry TEXT NOT NULL,
  region TEXT NOT NULL,
  stage TEXT NOT NULL CHECK (stage IN ('new', 'contacted', 'qualified', 'proposal', 'won', 'lost')),
  value INTEGER NOT NULL,
  owner TEXT NOT NULL REFERENCES people,
  contacts INTEGER NOT NULL,
  last_contact_on TEXT,
  note_en TEXT NOT NULL,
  note_ja TEXT NOT NULL
);

CREATE TABLE tasks (
  id INTEGER PRIMARY KEY,
  project TEXT REFERENCES projects,
  lead TEXT REFERENCES leads,
  title_en TEXT NOT NULL,
  title_ja TEXT NOT NULL,
  owner TEXT NOT NULL REFERENCES people,
  due_on TEXT NOT NULL,
  status TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'done')),
  key TEXT UNIQUE
);

CREATE TABLE sales (
  month TEXT NOT NULL,
  person TEXT NOT NULL REFERENCES people,
  target INTEGER NOT NULL,
  amount INTEGER NOT NULL,
  PRIMARY KEY (month, person)
);

CREATE TABLE market_notes (
  id TEXT PRIMARY KEY,
  noted_on TEXT NOT NULL,
  industry TEXT NOT NULL,
  region TEXT NOT NULL,
  direction TEXT NOT NULL CHECK (direction IN ('up', 'flat', 'down')),
  title_en TEXT NOT NULL,
  title_ja TEXT NOT NULL,
  note_en TEXT NOT NULL,
  note_ja TEXT NOT NULL
);

CREATE TABLE customer_feedback (
  id TEXT PRIMARY KEY,
  lead TEXT NOT NULL REFERENCES leads,
  received_on TEXT NOT NULL,
  topic TEXT NOT NULL,
  score INTEGER NOT NULL CHECK (score BETWEEN 1 AND 5),
  said_en TEXT NOT NULL,
  said_ja TEXT NOT NULL
);

CREATE TABLE faq (
  id TEXT PRIMARY KEY,
  question_en TEXT NOT NULL,
  question_ja TEXT NOT NULL,
  answer_en TEXT NOT NULL,
  answer_ja TEXT NOT NULL,
  words TEXT NOT NULL
);

CREATE VIEW texts AS
  SELECT 'project' AS kind, id, name_en AS title_en, name_ja AS title_ja, goal_en AS text_en, goal_ja AS text_ja
  FROM projects
  UNION ALL
  SELECT 'milestone', milestones.id, milestones.name_en, milestones.name_ja,
    projects.name_en || ', ' || milestones.due_on, projects.name_ja || '、' || milestones.due_on
  FROM milestones JOIN projects ON projects.id = milestones.project
  UNION ALL
  SELECT 'task', 'task-' || id, title_en, title_ja, due_on, due_on FROM tasks
  UNION ALL
  SELECT 'person', id, name_en, name_ja, role_en, role_ja FROM people
  UNION ALL
  SELECT 'lead', id, company_en, company_ja, note_en, note_ja FROM leads
  UNION ALL
  SELECT 'market', id, title_en, title_ja, note_en, note_ja FROM market_notes
  UNION ALL
  SELECT 'feedback', id, said_en, said_ja, topic || ', ' || received_on, topic || '、' || received_on
  FROM customer_feedback
  UNION ALL
  SELECT 'faq', id, question_en, question_ja, answer_en, answer_ja FROM faq;
