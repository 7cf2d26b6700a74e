"""The process that forks the programs of `tests/warm.py`."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def serve(listener: socket.socket) -> None:
    """Fork a program for each connection, and tell the connection how it ended."""
    programs: dict[int, socket.socket] = {}
    wake, waker = socket.socketpair()
    waker.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker.fileno())
    with selectors.DefaultSelector() as selector:
        for each in (listener, wake):
            selector.register(each, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is listener:
                    connection, _ = listener.accept()
                    pid = _fork(connection)
                    programs[pid] = connection
                    selector.register(connection, selectors.EVENT_READ, pid)
                elif key.fileobj is wake:
                    wake.recv(4096)
                elif not programs[key.data].recv(16):
                    # Whoever kills the client means the program.
                    os.kill(key.data, signal.SIGKILL)
                    selector.unregister(key.fileobj)
            for pid, code in _ended(programs):
                connection = programs.pop(pid)
                if connection in [key.fileobj for key in selector.get_map().values()]:
                    selector.unregister(connection)
                    connection.sendall(str(code).encode())
                connection.close()


def _ended(programs: dict[int, socket.socket]) -> list[tuple[int, int]]:
    found = [os.waitpid(pid, os.WNOHANG) for pid in programs]
    return [(pid, os.waitstatus_to_exitcode(status)) for pid, status in found if pid]


def _fork(connection: socket.socket) -> int:
    """Read what is to be run, import it, and fork."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    message = b""
    while len(message) < int.from_bytes(head, "big"):
        message += connection.recv(65536)
    folder, count, *words = os.fsdecode(message).split("\0")
    (places, *arguments), environment = words[: int(count)], words[int(count) :]
    place, *imports = places.split(",")
    for name in (*imports, *([] if place.endswith(".py") else [place.partition(":")[0]])):
        importlib.import_module(name)
    if pid := os.fork():
        for stream in streams:
            os.close(stream)
        connection.sendall(str(pid).encode())
        return pid
    code = 1
    try:
        connection.close()
        code = _run(place, arguments, Path(folder), dict(pair.split("=", 1) for pair in environment), streams)
    finally:
        os._exit(code)


def _run(place: str, arguments: list[str], folder: Path, environment: dict[str, str], streams: list[int]) -> int:
    """Become the program, and return its exit code."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    become(folder, environment, dict(enumerate(streams)))
    sys.argv = [place, *arguments]
    code: Any = 0
    try:
        if place.endswith(".py"):
            sys.path.insert(0, str(Path(place).parent))
            runpy.run_path(place, run_name="__main__")
        else:
            sys.path.insert(0, "")
            module, _, function = place.partition(":")
            getattr(sys.modules[module], function)()
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
        code = 1
    if not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return int(code)


def become(folder: Path, environment: Mapping[str, str], streams: Mapping[int, int]) -> None:
    """Take the folder, the environment and the streams of a program that a shell starts."""
    gc.freeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, source in streams.items():
        os.dup2(source, number)
        os.close(source)
    if 0 in streams:
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    from ringi.base import failpoints

    failpoints.ARMED.update(failpoints.parse_failpoints(environment.get("RINGI_FAILPOINT", "")))


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
