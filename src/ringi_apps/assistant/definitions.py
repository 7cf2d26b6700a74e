"""The checked definitions of an assistant."""

from __future__ import annotations

from dataclasses import dataclass

from ringi.errors import DefinitionError
from ringi_apps.assistant import definition_checks
from ringi_apps.assistant.catalog import Catalog


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
