"""The help lists each command below its heading, and fits a terminal of 80 columns in each language."""

from __future__ import annotations

import pytest
import typer
from rich.cells import cell_len
from tests.cli.desk import Desk
from tests.cli.test_commands import output_of

from ringi.base.texts import LANGUAGES
from ringi.cli.app import COMMANDS, app
from ringi.cli.texts import cli_text_catalogue

HEADINGS = ("Ask", "Answer", "Serve", "Operate", "Audit", "Connect")


def commands() -> dict[str, typer.core.TyperCommand | typer.core.TyperGroup]:
    """Return the commands and groups of `ringi` by their names."""
    return typer.main.get_command(app).commands  # type: ignore[attr-defined, no-any-return]


def test_each_command_has_one_of_six_headings() -> None:
    assert tuple(COMMANDS) == HEADINGS
    assert {command.rich_help_panel for command in commands().values()} == {*HEADINGS}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_help_lists_each_command_once_below_its_heading(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setenv("LC_ALL", {"en": "C.UTF-8"}.get(language, f"{language}.UTF-8"))
    headings = {f"{cli_text_catalogue(language)[f'help.{each.lower()}']}:": each for each in HEADINGS}
    listed, heading = [], ""
    for line in output_of(desk, "--help").splitlines():
        heading = headings.get(line, heading)
        if heading and line.startswith("  "):
            name, _, help = line.strip().partition(" ")
            assert help.strip(), line
            listed.append((name, heading))
    assert sorted(listed) == sorted((name, command.rich_help_panel) for name, command in commands().items())


@pytest.mark.parametrize("language", ["ja", "zh"])
@pytest.mark.parametrize("command", ["", "respond", "gate", "verify"])
def test_the_help_fits_80_columns(desk: Desk, monkeypatch: pytest.MonkeyPatch, language: str, command: str) -> None:
    monkeypatch.setenv("LC_ALL", f"{language}.UTF-8")
    monkeypatch.setenv("COLUMNS", "80")
    lines = output_of(desk, *command.split(), "--help").splitlines()
    assert [line for line in lines if cell_len(line) > 80] == []
