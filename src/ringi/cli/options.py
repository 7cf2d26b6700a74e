"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option("--url", help="The store; by default RINGI_URL, else .ringi/ringi.db.")]
Asks = Annotated[
    str | None,
    typer.Option(
        "--url",
        help="Where to ask: a store, or a server with its token in RINGI_TOKEN; by default RINGI_URL, "
        "else .ringi/ringi.db.",
    ),
]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port to listen on; 0 for any free one.", min=0, max=65535)]
Tenant = Annotated[str, typer.Option(help="The tenant.")]
By = Annotated[str | None, typer.Option("--name", help="The name in the audit trail; by default your user name.")]
Groups = Annotated[str, typer.Option("--groups", help="Your groups, separated by commas.")]
Unknown = Annotated[bool, typer.Option("--unknown", help="Take names of people or groups that nobody here has.")]
MaxFields = Annotated[int, typer.Option(help="The maximum number of fields in a form.", min=1)]
PollInterval = Annotated[float, typer.Option(help="Seconds between checks for lost notifications.")]
StoreTimeout = Annotated[
    float | None,
    typer.Option(
        help="Seconds to wait for PostgreSQL or Redis at startup; by default without limit.",
        envvar="RINGI_STORE_TIMEOUT",
        min=0,
    ),
]
Agents = Annotated[str | None, typer.Option(help="Your agents: MODULE or MODULE:NAME.")]
