"""Python loads this first when its folder is on the path: it moves the clock on the wall of this one process.

`SKEW` says by how many seconds; at SIGUSR1 the clock jumps by as much the other way. What time passes is as before.
"""

import datetime
import os
import signal
import time
from datetime import datetime as plain

skew = float(os.environ["SKEW"])
plain_time, plain_time_ns = time.time, time.time_ns


class OfAnyClock(type):
    """Takes for its own what was made before, and what C makes."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, plain)


class Skewed(plain, metaclass=OfAnyClock):
    """The class of times, with another now."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> plain:  # type: ignore[override]
        return plain.now(tz) + datetime.timedelta(seconds=skew)


def jump(*_: object) -> None:
    """Set the clock as wrong as it was, the other way."""
    global skew
    skew = -skew


datetime.datetime = Skewed  # type: ignore[misc]
time.time = lambda: plain_time() + skew
time.time_ns = lambda: plain_time_ns() + int(skew * 1e9)
signal.signal(signal.SIGUSR1, jump)
