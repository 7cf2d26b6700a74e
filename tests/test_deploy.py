"""The files for containers and systemd match the docs."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
UNITS = ("ringi.service", "ringi-worker.service")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the name and the rest of each instruction."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n", " ", "\n".join(lines))
    return [(line.split()[0], line.partition(" ")[2].strip()) for line in whole.splitlines() if line.strip()]


STAGES = [
    instructions(f"FROM {stage}")
    for stage in re.split(r"(?m)^FROM ", "\n".join(DOCKERFILE.splitlines()))[1:]
]  # fmt: skip
LAST = STAGES[-1]


def of_last(name: str) -> list[str]:
    return [rest for instruction, rest in LAST if instruction == name]


def test_images_are_named_with_a_version_and_nothing_is_added_from_an_address() -> None:
    bases = [stage[0][1].split()[0] for stage in STAGES]
    services = [service["image"] for service in SERVICES.values()]

    assert [base for base in bases if not re.fullmatch(r"[\w./-]+:\d[\w.-]*", base)] == []
    assert [image for image in services if "latest" in image or not re.search(r":[\w.-]+\}?$", image)] == []
    assert [rest for stage in STAGES for name, rest in stage if name == "ADD"] == []


def test_the_image_runs_as_a_user_without_privileges_and_has_one_volume() -> None:
    assert of_last("USER") == ["10001:10001"]
    assert json.loads(*of_last("VOLUME")) == ["/data"]
    assert "RINGI_HOME=/data" in of_last("ENV")[0]
    # An instruction after `VOLUME` that wrote to it would be lost, and one after `USER` could not write.
    assert [name for name, _ in LAST].index("RUN") < [name for name, _ in LAST].index("USER")


def test_the_image_holds_no_tool_of_the_build() -> None:
    copied = of_last("COPY")

    assert copied == [
        "--from=build /opt/ringi /opt/ringi",
        "--chmod=0755 deploy/entrypoint.py /usr/local/bin/ringi",
    ]
    assert [rest for rest in of_last("RUN") if re.search(r"apt|pip|npm|curl|wget", rest)] == []


def test_the_image_has_each_extra_that_a_server_or_a_worker_can_need() -> None:
    installed = set(re.findall(r"--extra (\w+)", DOCKERFILE))

    # Frameworks of agents are installed by those who use them; together they would get versions of a year ago.
    frameworks = {"openai-agents", "pydantic-ai"}
    # An editor starts its agent, and the proxy before it, on the machine of its person.
    elsewhere = {"all", "testing", "acp"}
    assert installed == set(PROJECT["optional-dependencies"]) - elsewhere - frameworks


def test_what_the_build_needs_is_let_in_and_exists() -> None:
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]
    allowed = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = [
        source
        for stage in STAGES
        for name, rest in stage
        if name == "COPY" and "--from=" not in rest
        for source in [word for word in rest.split() if not word.startswith("--")][:-1]
    ]

    assert rules[0] == "*"
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [source for source in copied if source not in allowed and source.split("/")[0] not in allowed] == []


def test_the_image_is_checked_by_python_alone() -> None:
    (check,) = of_last("HEALTHCHECK")
    command = json.loads(check.partition("CMD ")[2])

    # Isolated: the working directory holds the agents, whose modules may be called anything.
    assert command[:3] == ["python3", "-I", "-c"]
    compile(command[3], "HEALTHCHECK", "exec")
    assert "/healthz" in command[3]


def test_every_service_is_hardened() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["restart"] == ("no" if name == "credentials" else "unless-stopped"), name
        assert service.get("privileged") is None, name
        assert "user" in service or service["build"] == ".", name


def test_every_service_that_listens_is_checked_and_waited_for() -> None:
    ready, done = {"condition": "service_healthy"}, {"condition": "service_completed_successfully"}

    for name in ("server", "worker"):
        assert SERVICES[name]["depends_on"] == {"credentials": done, "postgres": ready, "valkey": ready}
    for name in ("postgres", "valkey"):
        assert SERVICES[name]["depends_on"] == {"credentials": done}
        assert SERVICES[name]["healthcheck"]["test"][0].startswith("CMD")
    # The server has the check of the image; the others of it listen nowhere.
    assert "healthcheck" not in SERVICES["server"]
    assert {name for name, service in SERVICES.items() if service.get("healthcheck", {}).get("disable")} == {
        "credentials", "worker",
    }  # fmt: skip


def test_only_the_server_is_reached_from_outside_and_only_from_this_machine() -> None:
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"server"}
    assert SERVICES["server"]["ports"] == ["${RINGI_ADDRESS:-127.0.0.1}:${RINGI_PORT:-8123}:8123"]
    assert COMPOSE["networks"]["back"]["internal"] is True
    assert [SERVICES[name]["networks"] for name in ("postgres", "valkey")] == [["back"], ["back"]]


def test_no_secret_is_in_the_file_and_only_their_maker_can_write_them() -> None:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    values = [str(value) for service in SERVICES.values() for value in service.get("environment", {}).values()]

    assert re.findall(r"(?i)(?:password|secret|token)\s*[:=]\s*[\"']?[^/\s{]", text) == []
    assert [value for value in values if "@" in value] == []
    mounts = {name: [v for v in s["volumes"] if v.startswith("credentials:")] for name, s in SERVICES.items()}
    assert mounts.pop("credentials") == ["credentials:/credentials"]
    assert set(map(tuple, mounts.values())) == {("credentials:/credentials:ro",)}
    assert [name for name, service in SERVICES.items() if "data:/data" in service["volumes"]] == ["server"]


def test_one_variable_chooses_the_agents_and_all_variables_are_described() -> None:
    page = (ROOT / "docs/how-to/run-in-containers.md").read_text("utf-8")
    used = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text("utf-8")))

    assert SERVICES["worker"]["command"] == ["worker", "--agents", "${RINGI_AGENTS:-ringi.demo:agents}"]
    assert "./agents:/agents:ro" in SERVICES["worker"]["volumes"]
    assert of_last("WORKDIR") == ["/agents"]
    assert used == set(re.findall(r"(?m)^\| `(RINGI_\w+)` \|", page))
    assert [name for name in COMPOSE["volumes"] if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_has_no_privileges_and_keeps_its_state_to_itself(name: str) -> None:
    unit = configparser.RawConfigParser(strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(ROOT / "deploy" / name)
    service = dict(unit["Service"])

    assert service["User"] == "ringi"
    assert (service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("strict", "")
    assert service["StateDirectoryMode"] == "0700"
    assert f"/var/lib/{service['StateDirectory']}" in service["Environment"]
    assert service["Restart"] == "on-failure"
    assert shlex.split(service["ExecStart"])[:2] == ["/opt/ringi/bin/ringi", "worker" if "worker" in name else "serve"]
    on = ("NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectHome", "RestrictNamespaces", "LockPersonality")
    assert [key for key in on if service[key] != "yes"] == []


def test_the_limit_of_the_size_is_the_same_in_the_docs_and_where_it_is_checked() -> None:
    workflow = (ROOT / ".github/workflows/image.yml").read_text("utf-8")

    assert "-le 250000000" in workflow
    assert "at most 250 MB" in (ROOT / "docs/how-to/run-in-containers.md").read_text("utf-8")
