"""Build the docs into `site/`: the pages of `docs/`, and the reference pages generated from the code.

Fail on a link, an anchor or a name without a target.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.reference import GENERATED

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MARK = re.compile(r"<!-- generated: (.+?) -->")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class DocsError(Exception):
    """The docs cannot be built."""


def main() -> int:
    """Write a new site; return 1 and keep the old one if a page has an error."""
    site = ROOT / "site"
    try:
        built = build(DOCS, ROOT / "build/docs")
    except DocsError as error:
        print(error, file=sys.stderr)
        return 1
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(built, site)
    print(f"docs: {site.relative_to(ROOT)}/index.html")
    return 0


def build(docs: Path, stage: Path) -> Path:
    """Build the site from scratch in the stage and return its folder, or raise `DocsError`."""
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(docs, stage / "docs")
    (stage / "zensical.toml").write_text((ROOT / "zensical.toml").read_text().replace('"src"', f'"{ROOT / "src"}"'))
    for page in (stage / "docs").rglob("*.md"):
        text = page.read_text("utf-8")
        page.write_text(MARK.sub(lambda found: GENERATED[found[1]](), text), "utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run([zensical, "build", "--strict"], cwd=stage, capture_output=True, text=True, check=False)
    if done.returncode:
        # The rest is only zensical's own stack; its colors break a log.
        raise DocsError(COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0])
    return stage / "site"


if __name__ == "__main__":
    sys.exit(main())
