"""Errors of the Engrammer routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from ringi.errors import ForbiddenError
from ringi.server import RefusalError


class NothingPendingError(RefusalError):
    """No insight awaits a decision of the caller."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "nothing_waits"

    @classmethod
    def in_conversation(cls, id: str) -> NothingPendingError:
        """Return the error for a conversation without pending insights."""
        return cls(f"no insight is pending in conversation {id!r}: read its state again")

    @classmethod
    def of(cls, id: str, insights: Iterable[str]) -> NothingPendingError:
        """Return the error for insights that are not pending."""
        named = ", ".join(map(repr, insights))
        return cls(f"{named} is not pending in conversation {id!r}: read its state again")


class UnseenError(RefusalError):
    """A caller approves insights that were not shown to them."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "unseen"

    def __init__(self, id: str) -> None:
        what = f"the pending insights of conversation {id!r} were not shown to you"
        super().__init__(f"{what}: read its state again, or name `insights` with their digests")


class ConversationFullError(RefusalError):
    """All threads of a conversation are running or have pending insights."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "busy"

    def __init__(self, id: str, most: int) -> None:
        super().__init__(
            f"{most} questions of conversation {id!r} are running or have pending insights: decide on some first"
        )


class NotForAgentsError(ForbiddenError):
    """An agent attempts an action that is reserved for people."""

    @classmethod
    def to_change(cls) -> NotForAgentsError:
        """Return the error for a change to a playbook."""
        return cls("an agent's token cannot change a playbook: ask a person")

    @classmethod
    def to_read(cls) -> NotForAgentsError:
        """Return the error for reading quotes from other people's conversations."""
        return cls(
            "an agent's token cannot read this, because it quotes other people's conversations: use a person's token"
        )

    @classmethod
    def to_say(cls) -> NotForAgentsError:
        """Return the error for feedback that does not come from a person."""
        return cls("an agent's token cannot give user feedback: send `expected` with the question instead")


class NotTheirPlaybookError(ForbiddenError):
    """A person changes a playbook that other people decide on."""

    def __init__(self, agent: str, deciders: Iterable[str]) -> None:
        super().__init__(f"only {', '.join(deciders)} may change the playbook of {agent!r}: ask one of them")


class StaleBulletError(RefusalError):
    """A person changes a bullet that was changed since they read it."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "stale"

    def __init__(self, bullet: str, version: int) -> None:
        self.more: dict[str, Any] = {"bullet": bullet, "version": version}
        super().__init__(f"bullet {bullet!r} was changed by version {version}: read it again before you change it")
