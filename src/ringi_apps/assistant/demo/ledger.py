"""Runs the steps of approved plans: each step writes one row, even if it is repeated."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date

from pydantic import BaseModel, ConfigDict, ValidationError

from ringi.errors import FieldError, InvalidError
from ringi_apps.assistant import StepJob
from ringi_apps.assistant.demo.office import Office, TableRow, rows

MILESTONE = """
INSERT INTO milestones (id, project, name_en, name_ja, starts_on, due_on, status, owner, key)
SELECT printf('ms-%03d', count(*) + 1), :project, :title, :title, :starts_on, :due_on, 'open', :owner, :key
FROM milestones WHERE true ON CONFLICT (key) DO NOTHING
"""
TASK = """
INSERT INTO tasks (lead, title_en, title_ja, owner, due_on, key)
VALUES (:lead, :title, :title, :owner, :due_on, :key) ON CONFLICT (key) DO NOTHING
"""


class StepArgs(BaseModel):
    """The arguments of every step."""

    model_config = ConfigDict(extra="forbid")
    title: str
    owner: str
    due_on: date


class MilestoneArgs(StepArgs):
    """The arguments of a step that adds a milestone."""

    project: str
    starts_on: date


class TaskArgs(StepArgs):
    """The arguments of a step that adds a task for a lead."""

    lead: str


KINDS: dict[str, tuple[type[StepArgs], str, str]] = {
    "add_milestone": (MilestoneArgs, MILESTONE, "milestones"),
    "add_task": (TaskArgs, TASK, "tasks"),
}
TABLES = {"project": "projects", "lead": "leads", "owner": "people"}


TEXTS: dict[str, dict[str, str]] = {
    "action": {
        "en": "{value!r} is not an available action: use one of {names}",
        "ja": "「{value}」はここでは実行できません。{names} のいずれかを使ってください",
        "zh": "此处无法执行“{value}”：请使用 {names} 之一",
    },
    "args": {
        "en": "{field} is missing or invalid: plan again, or edit the step",
        "ja": "「{field}」が欠けているか、形式が正しくありません。計画し直すか、ステップを編集してください",
        "zh": "“{field}”缺失或格式不正确：请重新计划，或编辑该步骤",
    },
    "absent": {
        "en": "{value!r} is not in {table}: use an existing id",
        "ja": "「{value}」は {table} にありません。存在する ID を指定してください",
        "zh": "{table} 中没有“{value}”：请给出存在的 ID",
    },
}


class StepError(InvalidError):
    """A step of a plan cannot run; `text` is the message in each language."""

    def __init__(self, field: str, code: str, **values: object) -> None:
        self.text = {language: text.format(field=field, **values) for language, text in TEXTS[code].items()}
        super().__init__([FieldError(field, self.text["en"])])


async def carry_out(office: Office, job: StepJob) -> TableRow:
    """Write the row of a step to the database and return it; for a used key, return the earlier row."""
    action = job.step.get("action")
    if action not in KINDS:
        raise StepError("action", "action", value=action, names=", ".join(KINDS))
    args = validate_step_arguments(KINDS[action][0], job.step.get("args") or {})
    return await office.do(lambda connection: write_once(connection, action, args, job.key))


def validate_step_arguments(kind: type[StepArgs], args: Mapping[str, object]) -> TableRow:
    """Validate the arguments of a step."""
    try:
        return kind.model_validate(args).model_dump(mode="json")
    except ValidationError as error:
        fields = ", ".join(".".join(map(str, each["loc"])) for each in error.errors())
        raise StepError(fields, "args") from error


def write_once(connection: sqlite3.Connection, action: str, args: TableRow, key: str) -> TableRow:
    """Write the row of a step unless it exists, and return it."""
    _, insert, table = KINDS[action]
    for field in TABLES.keys() & args.keys():
        if not rows(connection, f"SELECT id FROM {TABLES[field]} WHERE id = :id", {"id": args[field]}):
            raise StepError(field, "absent", value=args[field], table=TABLES[field])
    connection.execute(insert, {**args, "key": key})
    return rows(connection, f"SELECT * FROM {table} WHERE key = :key", {"key": key})[0]
