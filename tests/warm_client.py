"""Becomes a program that runs in a fork of a process with everything imported; see `tests/warm.py`.

It starts in a few hundredths of a second, so it imports next to nothing. Streams, folder, environment, signals and exit
code are those of a program that is started as usual.
"""

import os
import signal
import socket
import sys

KILLED = 137


def main() -> None:
    """Pass the streams on, and wait for the exit code."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(sys.argv[1])
        words = [os.getcwd(), str(len(sys.argv) - 2), *sys.argv[2:]]  # noqa: PTH109
        message = os.fsencode("\0".join([*words, *(f"{name}={value}" for name, value in os.environ.items())]))
        socket.send_fds(server, [len(message).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(message)
        # Else a reader would wait for the end of a stream after the fork has closed it.
        os.close(0)
        os.close(1)
        pid = int(server.recv(32))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int(server.recv(32) or KILLED)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


main()
