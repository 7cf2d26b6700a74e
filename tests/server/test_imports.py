"""What can be imported without the extras."""

from __future__ import annotations

import subprocess
import sys

import pytest

WITHOUT = """
import importlib, sys
for name in ("langgraph", "langchain_core", "langgraph.checkpoint", "langchain"):
    sys.modules[name] = None
importlib.import_module(sys.argv[1])
"""


@pytest.mark.parametrize("name", ["ringi.server.app", "ringi.server.auth.authenticator", "ringi.server.components"])
def test_the_server_needs_no_agent_framework(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, name], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


WITHOUT_CRYPTOGRAPHY = """
import sys
sys.modules["cryptography"] = None
from ringi.base.extras import MissingExtraError
from ringi.server.identity import Oidc
from ringi.server.auth.oidc_provider import OidcProvider
try:
    OidcProvider(Oidc("https://id.example.com", "ringi"))
except MissingExtraError as error:
    print(error)
"""


def test_a_provider_without_its_extra_is_told_which_it_is() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_CRYPTOGRAPHY], capture_output=True, text=True, timeout=60, check=False
    )

    assert "pip install 'ringi[oidc]'" in done.stdout, done.stderr
