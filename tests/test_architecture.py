"""The page on the architecture shows the layers that import-linter checks."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from itertools import groupby
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.sources import files, nodes_of

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "ringi"
PAGE = (ROOT / "docs/explanation/architecture.md").read_text("utf-8")
DRAWING = ROOT / "docs/images/architecture.svg"
SVG = {"svg": "http://www.w3.org/2000/svg"}
Layers = list[set[str]]


def contracts() -> list[dict[str, list[str]]]:
    found: list[dict[str, list[str]]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][
        "importlinter"
    ]["contracts"]
    return found


def layers_of_the_contract() -> Layers:
    """Return the layers of the contract."""
    rows = next(contract["layers"] for contract in contracts() if "layers" in contract)
    return [set(re.split(r"\s*[|:]\s*", row)) for row in rows]


def layers_of_the_drawing() -> Layers:
    rows = ElementTree.parse(DRAWING).findall("svg:g[@class='layer']", SVG)
    layers: Layers = []
    for row in rows:
        names = [str(text.text) for text in row.findall("svg:text[@class='room']", SVG)]
        assert len(names) == len(row.findall("svg:rect", SVG))
        layers.append(set(names))
    return layers


def layers_of_the_table() -> Layers:
    rows = re.findall(r"(?m)^\| (\d+) \| `(\w+)` \| ", PAGE)
    return [{name for _, name in layer} for _, layer in groupby(rows, key=lambda row: row[0])]


def test_the_drawing_shows_the_layers_of_the_contract_from_top_to_bottom() -> None:
    assert layers_of_the_drawing() == layers_of_the_contract()


def test_the_table_lists_the_layers_of_the_contract_in_order() -> None:
    numbers = [int(number) for number in re.findall(r"(?m)^\| (\d+) \| `", PAGE)]

    assert layers_of_the_table() == layers_of_the_contract()
    assert sorted(set(numbers)) == list(range(1, len(layers_of_the_contract()) + 1))


def test_each_room_of_the_package_is_in_a_layer() -> None:
    rooms = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}

    assert set().union(*layers_of_the_contract()) == rooms - {"__init__", "__main__"}


def test_the_page_tells_which_rooms_are_the_core() -> None:
    core = next(contract["source_modules"] for contract in contracts() if "source_modules" in contract)
    layers = layers_of_the_contract()
    below_inbox = set().union(*layers[layers.index({"inbox"}) :])

    assert {name.removeprefix("ringi.") for name in core} == below_inbox - {"backends"}
    assert "The core (`inbox` and the rows below it, without `backends`)" in PAGE


PLACES = sorted(set(re.findall(r"`([\w/.]+(?:/|\.py|\.md))`", PAGE.partition("## Where a change goes")[2])))


@pytest.mark.parametrize("place", PLACES)
def test_a_place_for_a_change_exists(place: str) -> None:
    assert any((folder / place).exists() for folder in (ROOT, PACKAGE))


def test_places_are_found_on_the_page() -> None:
    assert len(PLACES) >= 10


def test_no_two_classes_have_one_name() -> None:
    names = Counter(node.name for file in files() for node in nodes_of(file) if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == set()
