"""The check of the project's language refuses banned names and long commit subjects."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import dev
import pytest
from scripts import language
from scripts.language import SUBJECT_LIMIT, Name, Text

PLACE = "room/module.py"
LONG = "Retry webhook deliveries with jitter " + "and again " * 5
OTHER_REPOSITORY = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


@pytest.fixture(autouse=True)
def no_repository_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the repository of a hook that runs these tests."""
    for variable in OTHER_REPOSITORY:
        monkeypatch.delenv(variable, raising=False)


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(root), *identity, *arguments]
    environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def commit(root: Path, subject: str) -> str:
    git(root, "commit", "--allow-empty", "--message", subject)
    return git(root, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet")
    return root


def found_in(root: Path, source: str, file: str = PLACE) -> list[str]:
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(source)
    found = language.banned_names(language.names(root))
    return [line.replace(f"{root.name}/", "").removesuffix(": a name says what a thing is or does") for line in found]


@pytest.mark.parametrize(
    "source",
    [
        "def told(): ...",
        "async def _told(): ...",
        "TOLD = 1",
        "_TOLD: int = 1",
        "first, told = 1, 2",
        "class Told: ...",
        "class Event:\n    told: int",
        "class Event:\n    def told(self): ...",
        "class Event:\n    class Part:\n        def told(self): ...",
        "def tell(x, told): ...",
        "def tell():\n    told = 1",
        "x = lambda told: 1",
        "x = [1 for told in y]",
        "x.told = 1",
        "from room import x as told",
        "if True:\n    pass\nelse:\n    told = 1",
        "try:\n    import rich\nexcept ImportError:\n    pass\nelse:\n    told = 1",
    ],
)
def test_a_banned_name_is_refused_with_its_place(tmp_path: Path, source: str) -> None:
    (line,) = found_in(tmp_path, source)
    assert line.lower().replace("_", "") == f"name 'told' in {PLACE}:{source.count(chr(10)) + 1}"


def test_a_banned_name_of_a_module_or_a_room_is_refused(tmp_path: Path) -> None:
    assert found_in(tmp_path, "", "shown.py") == ["name 'shown' in shown.py"]
    assert "name 'kept' in kept/__init__.py" in found_in(tmp_path, "", "kept/__init__.py")


@pytest.mark.parametrize("source", ["told_at = 1", "from room import told", "x = told", "tell(told=1)", "x = y.told"])
def test_a_longer_name_and_a_use_are_not_counted(tmp_path: Path, source: str) -> None:
    assert found_in(tmp_path, source) == []


def test_a_commit_subject_over_the_limit_is_refused(repository: Path) -> None:
    commit(repository, LONG)
    since = commit(repository, "Add a store")
    assert language.long_subjects(language.subjects(repository, since)) == []

    commit(repository, LONG)
    assert language.long_subjects(language.subjects(repository, since)) == [
        f"commit subject of {len(LONG.strip())} characters, limit {SUBJECT_LIMIT}: {LONG.strip()}"
    ]


def test_a_shallow_clone_is_checked_as_far_as_it_reaches(repository: Path, tmp_path: Path) -> None:
    since = commit(repository, "Add a store")
    commit(repository, "Add a channel")
    commit(repository, LONG)
    git(tmp_path, "clone", "--quiet", "--depth", "1", repository.as_uri(), "shallow")

    assert language.subjects(tmp_path / "shallow", since) == [LONG.strip()]


def test_without_git_or_the_commit_no_subject_is_checked(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit(repository, LONG)
    archive = repository / "unpacked"
    archive.mkdir()

    assert language.subjects(repository, "0" * 40) == []
    assert language.subjects(archive, "HEAD") == []
    monkeypatch.setenv("PATH", str(tmp_path))
    assert language.subjects(repository, "HEAD") == []
    assert capsys.readouterr().out.count("not checked") == 3


def test_the_merge_that_a_code_host_makes_for_a_test_has_no_limit() -> None:
    assert language.long_subjects([f"Merge {'a' * 40} into {'b' * 40}"]) == []


@pytest.mark.parametrize(("subject", "code"), [("x" * SUBJECT_LIMIT, 0), ("x" * (SUBJECT_LIMIT + 1), 1)])
def test_the_hook_checks_the_subject_of_one_message(tmp_path: Path, subject: str, code: int) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text(f"{subject}\n\n{'A body line may be longer. ' * 9}\n")

    assert language.main(["--message", str(message)]) == code


def test_the_check_of_the_checkout_fails_when_a_rule_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "names", lambda _: [Name("told", "a.py:1")])

    assert language.main([]) == 1


def test_make_check_runs_it() -> None:
    commands = dict(dev.checks())

    assert commands["language"][1:] == ["scripts/language.py"]


def test_long_sentences_and_relative_clauses_are_reported(tmp_path: Path) -> None:
    long = "One sentence " + "goes on " * 20 + "here."
    page = f"# Title\n\nShort one. {long}\n\n```python\n{long}\n```\n\n| a | {long} |\n"
    source = f'"""What a caller sends."""\n\ndef f():\n    """Whoever asks.\n\n    {long}"""\n'
    for file, text in (("docs/page.md", page), ("src/module.py", source)):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text(text)
    lines = list(language.report(tmp_path, is_full=False))

    assert lines == [
        "docs: 2 of 5 sentences over 35 words, median 2",
        "  docs/page.md: 2",
        "docstrings: 1 of 3 sentences over 35 words, median 4",
        "  src/module.py: 1",
        "docstrings: 2 of 2 begin with a relative clause",
    ]
    assert "  src/module.py:3: Whoever asks." in list(language.report(tmp_path, is_full=True))


def test_a_sentence_ends_at_a_full_stop_and_not_at_an_abbreviation_or_a_name() -> None:
    text = "Call `ringi.open()`. It opens version 3.11, e.g. `3.11.7`! (Then close it.) `done` is next. Done?"

    assert len(language.sentences(Text(text, "page"))) == 5
