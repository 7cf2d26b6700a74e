"""Where a delivery may go: a name is resolved once, all it stands for is checked, and that is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from ringi.errors import RingiError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
NO_ADDRESS = "the host has no address that may be called from here"
"""What is said of a name that leads to a private network and of one that does not exist: callers cannot tell them
apart, and so learn nothing about the names of the server's own network."""
TRANSLATED = IPv6Network("64:ff9b::/96")
"""What a NAT64 gateway takes for an address of version 4."""
RESOLVERS = 64
"""Names that are looked up at once: one that nobody answers for takes half a minute."""


class RefusedAddressError(RingiError):
    """An address that deliveries may not reach: its message is for operators."""

    told: str
    """What anybody may know."""

    def __init__(self, host: str, address: Address) -> None:
        super().__init__(f"{host} is {address}, which is not public: allow its network in RINGI_WEBHOOK_ALLOW")
        self.told = NO_ADDRESS

    @classmethod
    def in_clear(cls, host: str) -> RefusedAddressError:
        """Return the error of an address that others on the way could read."""
        error = cls.__new__(cls)
        error.told = f"{host} is called without TLS: use https, or allow its network"
        RingiError.__init__(error, error.told)
        return error


def literal_address(host: str) -> Address | None:
    """Return the address that a host is without being looked up, in any notation; None for a name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        # 127.1, 0x7f000001 and 2130706433 are addresses too.
        return ip_address(socket.inet_aton(name))
    except OSError:
        return None


def is_callable(address: Address, allow: Sequence[Network]) -> bool:
    """Whether deliveries may reach an address over TLS."""
    meant = embedded(address) or address
    return any(meant in network for network in allow) or is_public(meant)


class Addresses:
    """Resolves names, and refuses what is not public and not allowed."""

    def __init__(self, allow: Sequence[Network]) -> None:
        self._allow = allow
        # In the loop's own executor names that nobody answers for would keep the store's work waiting.
        self._threads = ThreadPoolExecutor(RESOLVERS, "ringi-resolve")

    async def of(self, host: str, port: int, *, is_clear: bool) -> list[Address]:
        """Return the addresses of a host, all of them fit to be connected to.

        Raises `RefusedAddressError`, or `OSError` when there are none.
        """
        look = socket.getaddrinfo
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, look, host, port, 0, socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(ip_address(each[4][0]) for each in found))
        for address in addresses:
            self._check(host, address, is_clear)
        return addresses

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, host: str, address: Address, is_clear: bool) -> None:
        if not is_callable(address, self._allow):
            raise RefusedAddressError(host, address)
        meant = embedded(address) or address
        if is_clear and not any(meant in network for network in self._allow):
            raise RefusedAddressError.in_clear(host)


def embedded(address: Address) -> IPv4Address | None:
    """Return the address of version 4 that one of version 6 is only another way to write."""
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def is_public(address: Address) -> bool:
    """Whether the address belongs to one machine of the open internet."""
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or is_site_local)
