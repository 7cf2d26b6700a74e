"""One-use sign-in links that expire after minutes."""

from __future__ import annotations

import secrets

from ringi.base.settings import SIGN_IN_LINK_MINUTES
from ringi.contracts.backend import Backend, StreamItem
from ringi.domain.record import Key
from ringi.server.auth.authenticator import Keys, Principal, VerifiedToken
from ringi.server.refusals import UnauthenticatedError

PREFIX = "link."
USED = "the link was already used; `ringi link` creates another"


def mint_link(keys: Keys, address: str, caller: Principal, minutes: float = SIGN_IN_LINK_MINUTES) -> str:
    """Return a URL that signs the caller in on the page once."""
    link_keys = Keys(keys.derive("link"))
    code = link_keys.mint(**caller._asdict(), expires_in=minutes * 60, jti=secrets.token_hex(8))
    return f"{address.rstrip('/')}/#token={PREFIX}{code}"


class SignInLinks:
    """Verifies and redeems sign-in links."""

    def __init__(self, keys: Keys, backend: Backend) -> None:
        self._keys, self._stream = Keys(keys.derive("link")), backend.stream

    def verify(self, token: str) -> VerifiedToken:
        """Return the token of a link, or raise `UnauthenticatedError`."""
        return self._keys.verify(token.removeprefix(PREFIX))

    async def refuse_used(self, link: VerifiedToken) -> None:
        """Raise `UnauthenticatedError` if a link was used."""
        if await self._stream.read(link_use_key(link), limit=1):
            raise UnauthenticatedError(USED)

    async def use(self, link: VerifiedToken) -> None:
        """Redeem a link on all servers of the store; raise `UnauthenticatedError` if another call was first."""
        number = await self._stream.append(link_use_key(link), [StreamItem({"used_by": link.principal.name})], fence=0)
        if number != 1:
            raise UnauthenticatedError(USED)


def link_use_key(link: VerifiedToken) -> Key:
    """Return the key that records the use of a link."""
    assert link.metadata
    return Key("", f"link/{link.metadata.mark}")
