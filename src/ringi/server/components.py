"""The components that a server depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ringi.server.settings import ServerSettings

if TYPE_CHECKING:
    from ringi.connect import Backend
    from ringi.delivery.deliveries import Deliveries
    from ringi.inbox.inbox import StoreInbox
    from ringi.runs.runner import Runner
    from ringi.server.auth.authenticator import Keys


@dataclass(frozen=True)
class ServerComponents:
    """The open components that a server uses; the code that opened them must also close them."""

    backend: Backend
    """The store with its notifier, streams and jobs."""
    inbox: StoreInbox
    """The inbox on the store."""
    runner: Runner | None
    """Starts and cancels runs; None if the server has no agents."""
    keys: Keys
    """Creates and verifies tokens."""
    settings: ServerSettings
    """The settings of the server."""
    deliveries: Deliveries
    """Deliveries to webhooks and e-mail."""
