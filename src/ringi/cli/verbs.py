"""Commands of verbs on one request: their options and their help are those of the verb."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import Parameter, Signature, getdoc, signature
from typing import Annotated, Any

import typer

from ringi.cli.session import MemberSession

RequestArgument = Annotated[str, typer.Argument(help="The id of the request, from `ringi list`.")]
ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""An argument in the docstring of a verb, with its description."""


def command_of_verb(verb: Callable[..., Any]) -> Callable[..., None]:
    """Return the command that calls a verb on a request and prints its new state.

    Args:
        verb: The method of the inbox; its first parameter is the request.
    """
    doc, name = getdoc(verb) or "", verb.__name__
    described = {argument: " ".join(text.split()) for argument, text in ARGUMENT.findall(doc)}

    def command(session: MemberSession, id: str, **values: Any) -> None:
        session.change(lambda inbox: getattr(inbox, name)(id, by=session.person, **values))

    place = Parameter.POSITIONAL_OR_KEYWORD
    own = [each for each in signature(verb, eval_str=True).parameters.values() if each.name not in ("self", "by")]
    options = [
        each.replace(kind=place, annotation=Annotated[each.annotation, typer.Option(help=described[each.name])])
        for each in own[1:]
    ]
    first = [Parameter("session", place, annotation=MemberSession), Parameter("id", place, annotation=RequestArgument)]
    vars(command)["__signature__"] = Signature([*first, *options])
    command.__name__, command.__doc__ = name, doc.partition("\n\n")[0]
    return command
