"""Stock generators make clients from `openapi.json` as it is, and a call with only its mandatory fields compiles."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hatch_build
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from scripts.reference import description

HERE = Path(__file__).parent
Json = dict[str, Any]


@pytest.fixture(scope="module")
def document() -> Json:
    return asyncio.run(description())


@pytest.fixture(scope="module")
def described(document: Json, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the description."""
    folder = tmp_path_factory.mktemp("clients")
    (folder / "openapi.json").write_text(json.dumps(document))
    return folder


@pytest.fixture(scope="module")
def node_packages() -> Path:
    """The packages of `package-lock.json`, installed once."""
    packages, lock = HERE / "node_modules", (HERE / "package-lock.json").read_bytes()
    stamp, wanted = packages / ".stamp", hashlib.sha256(lock).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        node(HERE, "npm", "ci", "--no-audit", "--no-fund")
        stamp.write_text(wanted)
    return packages


def run(folder: Path, *command: str | Path, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, text=True, timeout=110, check=False
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def node(folder: Path, script: str | Path, *arguments: str | Path) -> str:
    found = hatch_build.find_node()
    assert found, "no Node: the dev group of pyproject.toml has it"
    path = f"{found[0].parent}{os.pathsep}{os.environ['PATH']}"
    return run(folder, found[0], found[1] if script == "npm" else script, *arguments, PATH=path)


def bodies(document: Json) -> list[tuple[str, str, str]]:
    """Return path, method and model of every call with a body."""
    found = []
    for path, of in document["paths"].items():
        for method, call in of.items():
            if body := call.get("requestBody"):
                schema = body["content"]["application/json"]["schema"]
                found.append((path, method, schema["$ref"].rpartition("/")[2]))
    return found


def smallest(document: Json, schema: Json) -> Any:
    """Return a value with no more than a schema asks for."""
    if ref := schema.get("$ref"):
        return smallest(document, document["components"]["schemas"][ref.rpartition("/")[2]])
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return smallest(document, options[0])
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if schema.get("type") == "array":
        return [smallest(document, schema["items"])] * schema.get("minItems", 0)
    if schema.get("type") == "object":
        return {name: smallest(document, schema["properties"][name]) for name in schema.get("required", [])}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True}.get(schema.get("type", ""))


def test_the_description_is_valid(document: Json) -> None:
    assert document["openapi"].startswith("3.1")
    assert [str(error) for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_call_has_a_name_of_its_own(document: Json) -> None:
    names = [call.get("operationId") for of in document["paths"].values() for call in of.values()]
    assert all(names)
    assert len(set(names)) == len(names)


@pytest.mark.timeout(180)
def test_openapi_typescript_makes_types_by_which_the_smallest_calls_compile(
    document: Json, described: Path, node_packages: Path
) -> None:
    node(described, node_packages / "openapi-typescript/bin/cli.js", "openapi.json", "-o", "api.d.ts")
    lines = ['import type { paths } from "./api";']
    for number, (path, method, model) in enumerate(bodies(document)):
        value = json.dumps(smallest(document, {"$ref": model}))
        body = f'NonNullable<paths["{path}"]["{method}"]["requestBody"]>["content"]["application/json"]'
        lines.append(f"export const call{number}: {body} = {value};")
    (described / "calls.ts").write_text("\n".join(lines))
    flags = ("--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false")
    node(described, node_packages / "typescript/bin/tsc", *flags, "calls.ts")
    assert len(lines) > 20


@pytest.mark.timeout(180)
def test_openapi_python_client_makes_a_client_by_which_the_smallest_calls_pass_mypy(described: Path) -> None:
    program = Path(sys.executable).with_name("openapi-python-client")
    printed = run(described, program, "generate", "--path", "openapi.json", "--output-path", "made", "--meta", "none")
    assert "WARNING" not in printed.upper()
    (described / "calls.py").write_text(
        "from made import AuthenticatedClient\n"
        "from made.api.requests import requests_ask, requests_cancel, requests_claim, requests_find, requests_respond\n"
        "from made.api.threads import threads_start\n"
        "from made.models import Answer, AnswerDecision, Ask, NewRun, Problem, Request\n\n"
        'client = AuthenticatedClient("http://localhost:8123", "token")\n'
        'asked: Request | Problem | None = requests_ask.sync(client=client, body=Ask(title="Go?"))\n'
        "assert isinstance(asked, Request)\n"
        "answer = Answer(decision=AnswerDecision.APPROVE, digest=asked.digest)\n"
        "requests_respond.sync(asked.id, client=client, body=answer)\n"
        "requests_find.sync(client=client)\n"
        "requests_claim.sync(asked.id, client=client)\n"
        "requests_cancel.sync(asked.id, client=client)\n"
        'threads_start.sync("t1", client=client, body=NewRun(agent="refund"))\n'
    )
    run(described, sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "calls.py")
