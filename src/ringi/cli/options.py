"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option("--url", help="The store; by default RINGI_URL, else .ringi/ringi.db.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)]
Tenant = Annotated[str, typer.Option(help="Whose requests.")]
By = Annotated[str | None, typer.Option("--name", help="Who does it, in the audit trail; by default you.")]
MaxFields = Annotated[int, typer.Option(help="How many fields a form may have.", min=1)]
PollInterval = Annotated[float, typer.Option(help="Seconds after which a lost notification does no more harm.")]
StoreTimeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds to wait for a PostgreSQL or Redis that does not answer at the start; by default for ever.",
        envvar="RINGI_STORE_TIMEOUT",
        min=0,
    ),
]
Agents = Annotated[str | None, typer.Option(help="Where your agents are: MODULE or MODULE:NAME.")]
