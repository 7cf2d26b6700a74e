"""Carrying out the steps of approved plans: each writes one row, however often it is tried."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ringi.assistant import StepJob
from ringi.demo.assistant.office import Office, Row, rows
from ringi.errors import FieldError, InvalidError

MILESTONE = """
INSERT INTO milestones (id, project, name_en, name_ja, starts_on, due_on, status, owner, key)
SELECT printf('ms-%03d', count(*) + 1), :project, :title, :title, :starts_on, :due_on, 'open', :owner, :key
FROM milestones WHERE true ON CONFLICT (key) DO NOTHING
"""
TASK = """
INSERT INTO tasks (lead, title_en, title_ja, owner, due_on, key)
VALUES (:lead, :title, :title, :owner, :due_on, :key) ON CONFLICT (key) DO NOTHING
"""


class Written(BaseModel):
    """What every step says."""

    model_config = ConfigDict(extra="forbid")
    title: str
    owner: str
    due_on: date


class Milestone(Written):
    """A milestone of a project."""

    project: str
    starts_on: date


class Task(Written):
    """A task about a lead."""

    lead: str


KINDS: dict[str, tuple[type[Written], str, str]] = {
    "add_milestone": (Milestone, MILESTONE, "milestones"),
    "add_task": (Task, TASK, "tasks"),
}
TABLES = {"project": "projects", "lead": "leads", "owner": "people"}


WORDS: dict[str, dict[str, str]] = {
    "action": {
        "en": "{value!r} cannot be done here: use one of {ables}",
        "ja": "「{value}」はここでは実行できません。{ables} のいずれかを使ってください",
        "zh": "此处无法执行“{value}”：请使用 {ables} 之一",
    },
    "args": {
        "en": "{field} is missing or of the wrong form: plan again, or edit the step",
        "ja": "「{field}」が欠けているか、形式が正しくありません。計画し直すか、ステップを編集してください",
        "zh": "“{field}”缺失或格式不正确：请重新计划，或编辑该步骤",
    },
    "absent": {
        "en": "{value!r} is not in {table}: give an id that is",
        "ja": "「{value}」は {table} にありません。存在する ID を指定してください",
        "zh": "{table} 中没有“{value}”：请给出存在的 ID",
    },
}


class StepError(InvalidError):
    """A step of a plan cannot be carried out as it stands; `text` says so in each language."""

    def __init__(self, field: str, code: str, **about: object) -> None:
        self.text = {language: words.format(field=field, **about) for language, words in WORDS[code].items()}
        super().__init__([FieldError(field, self.text["en"])])

    @classmethod
    def of_action(cls, action: object) -> StepError:
        """Return the error of a step that names nothing that can be done."""
        return cls("action", "action", value=action, ables=", ".join(KINDS))

    @classmethod
    def of_args(cls, error: ValidationError) -> StepError:
        """Return the error of arguments that do not fit."""
        return cls(", ".join(".".join(map(str, each["loc"])) for each in error.errors()), "args")

    @classmethod
    def of_absent(cls, field: str, value: str) -> StepError:
        """Return the error of an argument that names nothing in the office."""
        return cls(field, "absent", value=value, table=TABLES[field])


class Ledger:
    """Writes steps into the office."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def carry_out(self, job: StepJob) -> Row:
        """Write the row of a step and return it; under a key that was used before, return what was written then."""
        action = job.step.get("action")
        if action not in KINDS:
            raise StepError.of_action(action)
        args = checked(KINDS[action][0], job.step.get("args") or {})
        return await self._office.do(lambda connection: written(connection, action, args, job.key))


def checked(kind: type[Written], args: Mapping[str, Any]) -> Row:
    """Return arguments that fit."""
    try:
        return kind.model_validate(args).model_dump(mode="json")
    except ValidationError as error:
        raise StepError.of_args(error) from error


def written(connection: sqlite3.Connection, action: str, args: Row, key: str) -> Row:
    """Return the row of a step, written now or before."""
    _, insert, table = KINDS[action]
    for field in TABLES.keys() & args.keys():
        if not rows(connection, f"SELECT id FROM {TABLES[field]} WHERE id = :id", {"id": args[field]}):
            raise StepError.of_absent(field, args[field])
    connection.execute(insert, {**args, "key": key})
    return rows(connection, f"SELECT * FROM {table} WHERE key = :key", {"key": key})[0]
