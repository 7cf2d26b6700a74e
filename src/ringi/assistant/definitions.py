"""The definitions of an assistant, checked when they are made."""

from __future__ import annotations

from dataclasses import dataclass

from ringi.assistant import definition_checks
from ringi.assistant.catalog import Catalog
from ringi.errors import DefinitionError


@dataclass(frozen=True)
class Definitions(Catalog):
    """All that one assistant is made of; raises `DefinitionError` that names each fault and its remedy."""

    def __post_init__(self) -> None:
        if errors := list(definition_checks.find_faults(self)):
            raise DefinitionError(errors)
