"""Set up, run, test, check and measure a checkout of Ringi.

Needs Python >= 3.11 and nothing else: no root, no Node, no servers. `python3 dev.py` lists the commands.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(BIN / "python")
UV = str(BIN / "uv")
LOCK = ROOT / "requirements.lock"
FRAMEWORKS = ROOT / ".venv-frameworks"
"""The environment with all agent frameworks: next to Ringi's own tools they would get versions of a year ago."""
FRAMEWORKS_PYTHON = str(FRAMEWORKS / BIN.name / "python")
FRAMEWORKS_LOCK = ROOT / "frameworks.lock"
RUNTIME_TESTS = tuple(
    f"tests/runtimes/{name}" for name in ("openai_agents", "pydantic_ai", "test_bare.py", "test_demo_agents.py")
)
TYPED_PACKAGES = ("ringi.runtimes.openai_agents", "ringi.runtimes.pydantic_ai", "ringi.demo.frameworks")
"""The packages whose types are checked with the frameworks installed: in .venv a framework is `Any`."""
VERSION_MATRIX = [PYTHON, "-m", "scripts.version_matrix"]
UI = ROOT / "ui"
PROCESSORS = os.cpu_count() or 1
AT_ONCE = ["-n", str(min(8, 2 * PROCESSORS)), "--dist", "loadfile", "--no-loadscope-reorder"]
"""The options for many tests: two processes for each processor, because tests often wait, except in `fast`. Each file
stays in one process, because its tests share servers.

Files run in the order of the folders, so that slow files do not come last: one file may have the slowest tests.
"""


STEADY = 20
"""How often `steady` runs the tests."""
SYSTEM_BROWSERS = ("chromium", "google-chrome")
FONTS = {
    "fonts-dejavu-core": "DejaVuSans.ttf",
    "fonts-liberation": "LiberationSans-Regular.ttf",
    "fonts-noto-cjk": "NotoSansCJK-Regular.ttc",
}
"""The packages with the fonts of a Debian desktop, and a file of each."""
LAYOUT_TESTS = tuple(
    f"tests/acceptance/test_{name}.py" for name in ("shell", "mounted", "first_steps", "inbox_states", "everyone")
)


class StepError(Exception):
    """A step failed; the message is enough for the caller."""


def main(arguments: list[str]) -> None:
    """Run one command with its arguments."""
    if sys.version_info < (3, 11):
        raise StepError(f"Ringi needs Python >= 3.11; {sys.executable} is {sys.version.split()[0]}")
    command = COMMANDS.get(arguments[0]) if arguments else usage
    if command is None:
        raise StepError(f"no command {arguments[0]!r}; there are {', '.join(COMMANDS)}")
    command(arguments[1:])


def usage(_: list[str]) -> None:
    """List the commands."""
    for name, command in COMMANDS.items():
        print(f"python3 dev.py {name:15}{command.__doc__}")


def setup(_: list[str]) -> None:
    """Update .venv to requirements.lock and pyproject.toml."""
    create_environment()
    once("packages", [LOCK], [UV, "pip", "sync", "--quiet", "--require-hashes", str(LOCK)])
    # A sync removes packages that the lock does not name, such as ringi.
    install = [UV, "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."]
    once("ringi", [LOCK, ROOT / "pyproject.toml"], install, RINGI_SKIP_UI="1")


def demo(arguments: list[str]) -> None:
    """Open the demo: web page, embedded store, scripted agents."""
    setup([])
    page("--build")
    replace([str(BIN / "ringi"), "demo", *arguments])


def cluster(_: list[str]) -> None:
    """Open the demo in its distributed form: PostgreSQL, Redis, two servers, three workers."""
    setup([])
    page("--build")
    replace([PYTHON, "-m", "scripts.cluster"])


def test(arguments: list[str]) -> None:
    """Run the page's tests and the quick tests on one store; `fast` needs no server; other arguments go to pytest."""
    if arguments == ["fast"]:
        setup([])
        tier("fast", "-n", str(PROCESSORS))
    elif arguments:
        prepare_browser()
        run([PYTHON, "-m", "pytest", *arguments])
    else:
        prepare_browser()
        with_page("quick")


def steady(arguments: list[str]) -> None:
    """Run the tests that the arguments name 20 times beside a load; fail on the first failure."""
    if not arguments:
        raise StepError("name the tests: make steady ARGS=tests/acceptance/test_page.py")
    prepare_browser()
    load = [subprocess.Popen([PYTHON, "-c", "while True: pass"]) for _ in range(4 * PROCESSORS)]
    try:
        for number in range(1, STEADY + 1):
            step(f"run {number} of {STEADY}", [PYTHON, "-m", "pytest", "-q", *arguments])
    finally:
        for process in load:
            process.kill()


def stores_tier(_: list[str]) -> None:
    """Run the tests of fences, streams, jobs, delivery and faults on PostgreSQL and Redis."""
    prepare_browser()
    tier("stores")


def every_tier(_: list[str]) -> None:
    """Run every test on every store, with old servers, chaos, the wheel, the docs, oldest and newest dependencies."""
    prepare_browser()
    is_matrix_right = passes("version matrix", VERSION_MATRIX)
    with_page("all")
    with_system_browser()
    if not is_matrix_right:
        raise StepError("failed: version matrix")


def prepare_browser() -> None:
    """Install what a test of the page needs."""
    setup([])
    page("--install")
    page("--build")
    step("find a browser", [PYTHON, "-m", "tests.browser"])


def with_page(name: str) -> None:
    """Run the page's own tests and a tier, and name the failures."""
    is_page_right = not has_page() or passes("ui: test", npm("test"))
    tier(name)
    if not is_page_right:
        raise StepError("failed: ui: test")


def with_system_browser() -> None:
    """Run the tests of the layout again with the Chromium and fonts of the system, or say how to install them."""
    program = next(filter(None, map(shutil.which, SYSTEM_BROWSERS)), None)
    fonts = {path.name for path in Path("/usr/share/fonts").rglob("*") if path.suffix in {".ttf", ".ttc"}}
    missing = [] if program else ["chromium"]
    missing += [package for package, file in FONTS.items() if file not in fonts]
    if program is None or missing:
        print(f"not run with the system's Chromium and fonts: apt-get install {' '.join(missing)}", file=sys.stderr)
        return
    command = [PYTHON, "-m", "pytest", *AT_ONCE, *LAYOUT_TESTS]
    step("layout with the system's Chromium", command, TEST_CHROMIUM=program)


def tier(name: str, *arguments: str) -> None:
    """Run the tests of a tier; tests/tiers.py lists them."""
    unused = ["-p", "no:schemathesis"] if name in ("fast", "quick") else []
    run([PYTHON, "-m", "pytest", "--tier", name, *unused, *AT_ONCE, *arguments])


def check(_: list[str]) -> None:
    """Run every check that needs no server, one on each processor, and name the failures."""
    setup([])
    page("--install")
    with ThreadPoolExecutor(PROCESSORS) as pool:
        done = pool.map(lambda each: (each[0], passes_beside_others(*each)), checks())
        failed = [title for title, is_right in done if not is_right]
    if failed:
        raise StepError(f"failed: {', '.join(failed)}")


def docs(_: list[str]) -> None:
    """Build the docs into site/; fail on a link or a name without a target."""
    setup([])
    run([PYTHON, "-m", "scripts.docs"])


def dist(_: list[str]) -> None:
    """Build dist/: the source archive, and the wheel from it."""
    setup([])
    page("--build")
    folder = ROOT / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    step("build", [UV, "build", "--quiet", "--no-build-isolation", "--out-dir", str(folder)])
    for archive in sorted(folder.glob("ringi-*")):
        print(f"{archive.relative_to(ROOT)}  {archive.stat().st_size / 1024:,.0f} KiB")


def bench(arguments: list[str]) -> None:
    """Measure Ringi against floors and peers."""
    setup([])
    run([PYTHON, "-m", "benchmarks", *arguments])


def bench_learning(arguments: list[str]) -> None:
    """Let an Engrammer learn the Formula questions: `--data FOLDER`, and `--model PROVIDER:NAME` for a real model."""
    setup([])
    run([PYTHON, "-m", "benchmarks.apps.learning", *arguments])


def frameworks(arguments: list[str]) -> None:
    """Run the tests of the agent frameworks; `matrix` tests the oldest and newest dependencies; others go to pytest."""
    setup([])
    if arguments[:1] == ["matrix"]:
        run([*VERSION_MATRIX, *arguments[1:]])
        return
    if not fits(FRAMEWORKS_PYTHON):
        shutil.rmtree(FRAMEWORKS, ignore_errors=True)
        step("create .venv-frameworks", [UV, "venv", "--quiet", "--python", sys.executable, str(FRAMEWORKS)])
    into = ["--quiet", "--python", FRAMEWORKS_PYTHON]
    sync = [UV, "pip", "sync", *into, "--require-hashes", str(FRAMEWORKS_LOCK)]
    once("frameworks", [FRAMEWORKS_LOCK], sync, FRAMEWORKS)
    install = [UV, "pip", "install", *into, "--no-deps", "--no-build-isolation", "--editable", "."]
    once("ringi", [FRAMEWORKS_LOCK, ROOT / "pyproject.toml"], install, FRAMEWORKS, RINGI_SKIP_UI="1")
    are_types_right = bool(arguments) or passes("mypy with the frameworks", framework_types())
    # The fixtures of the other tests need a browser and servers.
    run([FRAMEWORKS_PYTHON, "-m", "pytest", "--confcutdir", "tests/runtimes", *(arguments or RUNTIME_TESTS)])
    if not are_types_right:
        raise StepError("failed: mypy with the frameworks")


def framework_types() -> list[str]:
    """Return the command that checks the types of the adapters against those of their frameworks."""
    options = "--config-file= --strict --explicit-package-bases --follow-imports=silent --warn-unreachable"
    where = ["--cache-dir", str(FRAMEWORKS / "mypy_cache"), "--python-executable", FRAMEWORKS_PYTHON]
    packages = [part for name in TYPED_PACKAGES for part in ("-p", name)]
    return [str(BIN / "mypy"), *options.split(), *where, *packages]


def lock(arguments: list[str]) -> None:
    """Write new lock files; `--upgrade` takes newer versions."""
    setup([])
    write_lock(LOCK, "--extra all --group dev", arguments)
    extras = "--extra openai-agents --extra pydantic-ai --extra testing"
    write_lock(FRAMEWORKS_LOCK, f"{extras} --group frameworks", arguments)


def write_lock(file: Path, contents: str, arguments: list[str]) -> None:
    """Resolve the packages of some extras and groups into a lock file."""
    options = f"--universal {contents} --generate-hashes --no-header --no-annotate"
    compile_ = [UV, "pip", "compile", "--quiet", "pyproject.toml", "-o", file.name, *options.split()]
    step(f"resolve {file.name}", compile_ + arguments)


COMMANDS = {
    "setup": setup,
    "demo": demo,
    "cluster": cluster,
    "test": test,
    "steady": steady,
    "test-stores": stores_tier,
    "test-all": every_tier,
    "check": check,
    "docs": docs,
    "dist": dist,
    "frameworks": frameworks,
    "bench": bench,
    "bench-learning": bench_learning,
    "lock": lock,
}


def create_environment() -> None:
    """Create .venv with the locked uv, unless it exists and works."""
    if fits(PYTHON) and fits(UV):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    step("create .venv", [sys.executable, "-m", "venv", str(VENV)])
    pin = VENV / "uv.txt"
    pin.write_text(locked("uv"))
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--require-hashes", "-r", str(pin)]
    step("install uv", pip)


def fits(program: str) -> bool:
    """Return whether a program of .venv runs; after a move or an upgrade of Python it may not."""
    try:
        return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def locked(package: str) -> str:
    """Return the lines of one package, with its hashes, from requirements.lock."""
    entries = LOCK.read_text().replace(" \\\n    ", " ").splitlines()
    return next(entry for entry in entries if entry.startswith(f"{package}=="))


def once(title: str, sources: list[Path], command: list[str], venv: Path = VENV, **variables: str) -> None:
    """Run a step for an environment unless it was done for exactly these sources."""
    stamp = venv / f"{title}.stamp"
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        step(f"install {title}", command, **variables)
        stamp.write_text(wanted)


def has_page() -> bool:
    """Return whether this checkout has the sources of the web page."""
    return (UI / "package.json").exists()


def page(task: str) -> None:
    """Update the page's packages (`--install`) or its bundle (`--build`)."""
    if has_page():
        run([PYTHON, "hatch_build.py", task])


def npm(name: str) -> list[str]:
    """Return the command for one of the page's scripts."""
    return [str(BIN / "npm"), "--prefix", str(UI), "run", "--silent", name]


def checks() -> list[tuple[str, list[str]]]:
    """Return title and command of each check, those that take longest first."""
    page = [(f"ui: {name}", npm(name)) for name in ("lint", "types") if has_page()]
    python = [
        ("mypy", [str(BIN / "mypy")]),
        *page,
        ("source", [PYTHON, "-m", "pytest", "--tier", "check", "-q"]),
        ("ruff check", [str(BIN / "ruff"), "check"]),
        ("ruff format", [str(BIN / "ruff"), "format", "--check", "--output-format", "concise"]),
        ("import-linter", [str(BIN / "lint-imports")]),
        ("sizes", [PYTHON, "scripts/sizes.py"]),
        ("language", [PYTHON, "scripts/language.py"]),
        ("docs", [PYTHON, "-m", "scripts.docs"]),
        ("compose.yaml", conforms("compose-spec", "compose.yaml")),
        ("workflows", conforms("github-workflows", *sorted(map(str, ROOT.glob(".github/workflows/*.yml"))))),
    ]
    if os.name != "nt":
        python.append(("Dockerfile", [str(BIN / "hadolint"), "Dockerfile"]))
    return python


def conforms(schema: str, *files: str) -> list[str]:
    """Return the command that checks files against a published schema, which the checker contains."""
    return [str(BIN / "check-jsonschema"), "--quiet", "--builtin-schema", f"vendor.{schema}", *files]


def passes(title: str, command: list[str]) -> bool:
    """Run one check and return whether it passed."""
    try:
        step(title, command)
    except StepError:
        return False
    return True


def passes_beside_others(title: str, command: list[str]) -> bool:
    """Run one check while others run, print what it printed in one piece, and return whether it passed."""
    started = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, env=environment(), check=False, capture_output=True, text=True)
    print(f"· {title}: {time.monotonic() - started:.1f} s\n{done.stdout}{done.stderr}", end="", flush=True)
    return done.returncode == 0


def step(title: str, command: list[str], **variables: str) -> None:
    """Run a command under a title and print its duration."""
    started = time.monotonic()
    print(f"· {title}", file=sys.stderr, flush=True)
    try:
        run(command, **variables)
    finally:
        print(f"  {title}: {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def run(command: list[str], **variables: str) -> None:
    """Run a command in the checkout, or raise `StepError`."""
    try:
        code = subprocess.run(command, cwd=ROOT, env=environment() | variables, check=False).returncode
    except OSError as error:
        raise StepError(f"cannot start {command[0]!r}: {error}") from error
    if code:
        raise StepError(f"exit code {code}: {' '.join(command)}")


def replace(command: list[str]) -> None:
    """Replace this process by the command, so that the command gets all signals."""
    if os.name == "nt":
        run(command)
        return
    os.execve(command[0], command, environment())


def environment() -> dict[str, str]:
    """Return the environment variables for the programs of .venv."""
    path = f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"
    own = {"PATH": path, "VIRTUAL_ENV": str(VENV), "UV_PYTHON": PYTHON, "PYTHONDONTWRITEBYTECODE": ""}
    if not os.access(Path.home(), os.W_OK):
        # An account without a home, as in many containers, has no place for a cache.
        own["HOME"] = str(VENV / "home")
    return os.environ | own


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except StepError as error:
        sys.exit(f"dev.py: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
