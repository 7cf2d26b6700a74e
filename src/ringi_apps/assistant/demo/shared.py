"""The parts that the three assistants share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from langchain_core.language_models import BaseChatModel
from pydantic import TypeAdapter

from ringi.demo.data import package_toml
from ringi_apps.assistant import Assistant, Definitions, in_language
from ringi_apps.assistant.demo.lookups import Lookups, info_handlers

TEXTS = package_toml("ringi_apps.assistant.demo", "texts.toml")
DEFINITIONS = TypeAdapter(Definitions)
Workflows = Mapping[str, Callable[..., object]]


def assistant_of(
    name: str, agent: str, prompt: str, model: BaseChatModel, workflows: Workflows, lookups: Lookups
) -> Assistant:
    """Return the assistant that `assistants.toml` defines under a name, as an agent of another name."""
    defined = package_toml("ringi_apps.assistant.demo", "assistants.toml")[name]
    definitions = DEFINITIONS.validate_python(
        {"infos": defined["infos"], "actions": defined["actions"], "handlers": info_handlers(name, lookups)}
    )
    return Assistant(
        agent,
        definitions,
        model,
        workflows=workflows,
        title=defined["title"],
        description=defined["description"],
        prompt=prompt,
    )


def text_in(language: str, group: str, name: str, /, **values: object) -> str:
    """Return a text of `texts.toml` in a language, with its values."""
    return in_language(TEXTS[group][name], language).format(**values)


def markdown_table(head: str, lines: Iterable[str]) -> str:
    """Return a Markdown table from its head and its rows."""
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *lines])
