"""What the routes of Engrammers refuse, in words that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from ringi.errors import ForbiddenError
from ringi.server import RefusalError


class NothingPendingError(RefusalError):
    """Somebody decides on insights, and none waits for them."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "nothing_waits"

    @classmethod
    def in_conversation(cls, id: str) -> NothingPendingError:
        """Return the error of a conversation in which nothing is open to the caller."""
        return cls(f"nothing waits to be learned in conversation {id!r}: read its state again")

    @classmethod
    def of(cls, id: str, insights: Iterable[str]) -> NothingPendingError:
        """Return the error of insights that are not open."""
        named = ", ".join(map(repr, insights))
        return cls(f"{named} does not wait in conversation {id!r}: read its state again")


class UnseenError(RefusalError):
    """Somebody approves what waits, and was not shown it."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "unseen"

    def __init__(self, id: str) -> None:
        what = f"what waits in conversation {id!r} is not what you were shown"
        super().__init__(f"{what}: read its state again, or name `insights` with their digests")


class ConversationFullError(RefusalError):
    """A conversation has as many threads as it may have, and all of them run or wait."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "busy"

    def __init__(self, id: str, most: int) -> None:
        super().__init__(
            f"{most} questions of conversation {id!r} run, or have insights that wait: decide on some first"
        )


class NotForAgentsError(ForbiddenError):
    """An agent tries what only people may."""

    @classmethod
    def to_change(cls) -> NotForAgentsError:
        """Return the error of a change of a playbook."""
        return cls("an agent's token cannot change a playbook: ask a person")

    @classmethod
    def to_read(cls) -> NotForAgentsError:
        """Return the error of reading what was said in conversations of others."""
        return cls("an agent's token cannot read this, it quotes conversations of others: use a person's")

    @classmethod
    def to_say(cls) -> NotForAgentsError:
        """Return the error of a word on an answer that no user says."""
        return cls("an agent's token cannot say what a user thinks of an answer: give `expected` with the question")


class NotTheirPlaybookError(ForbiddenError):
    """A person changes a playbook by hand on whose proposals others decide."""

    def __init__(self, agent: str, deciders: Iterable[str]) -> None:
        super().__init__(f"what {agent!r} learns is decided by {', '.join(deciders)}: ask one of them to change it")


class StaleBulletError(RefusalError):
    """A person changes a bullet that they have not seen as it is now."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "stale"

    def __init__(self, bullet: str, version: int) -> None:
        self.more: dict[str, Any] = {"bullet": bullet, "version": version}
        super().__init__(f"bullet {bullet!r} was changed by version {version}: read it again, and then change it")
