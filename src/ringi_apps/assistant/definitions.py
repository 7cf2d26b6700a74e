"""The checked definitions of an assistant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringi.errors import FieldError, RingiError
from ringi_apps.assistant import definition_checks
from ringi_apps.assistant.catalog import Catalog


class DefinitionError(RingiError):
    """The parts of an assistant are inconsistent; `errors` has one entry for each fault."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in self.errors))


@dataclass(frozen=True)
class Definitions(Catalog):
    """The infos, actions and handlers of one assistant, checked when the object is made.

    Args:
      infos: The values that the assistant can know.
      actions: The things that it can do.
      handlers: The functions that fetch values.

    Raises:
      DefinitionError: A definition is invalid. Its errors name each fault and its remedy.
    """

    def __post_init__(self) -> None:
        if errors := list(definition_checks.find_faults(self)):
            raise DefinitionError(errors)
