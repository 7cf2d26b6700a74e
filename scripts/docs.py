"""Write the generated parts of the reference into `docs/`, and build all pages into `site/`.

A generated part stands between `<!-- generated: NAME -->` and `<!-- end -->`, so that it can be read in the repository.
Fail on a link, an anchor or a name without a target.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.api_reference import ApiError, api
from scripts.reference import GENERATED

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PART = re.compile(r"(?s)<!-- generated: ([^\n]+?) -->\n.*?<!-- end -->")
FENCE = re.compile(r"(?ms)^```\w*\n(.*?)^```$")
HEADING = re.compile(r"(?m)^(##|###) (.+)$")
CONTENTS = "contents"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class DocsError(Exception):
    """The docs cannot be built."""


def main() -> int:
    """Write a new site; return 1 and keep the old one if a page has an error."""
    site = ROOT / "site"
    stage = ROOT / "build/docs"
    try:
        built = build(DOCS, stage)
    except DocsError as error:
        print(error, file=sys.stderr)
        return 1
    for page in (stage / "docs/reference").glob("*.md"):
        shutil.copyfile(page, DOCS / "reference" / page.name)
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(built, site)
    print(f"docs: {site.relative_to(ROOT)}/index.html")
    return 0


def build(docs: Path, stage: Path) -> Path:
    """Build the site from scratch in the stage and return its folder, or raise `DocsError`."""
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(docs, stage / "docs")
    shutil.copyfile(ROOT / "zensical.toml", stage / "zensical.toml")
    for page in (stage / "docs").rglob("*.md"):
        page.write_text(filled(page.read_text("utf-8")), "utf-8")
    zensical = Path(sys.executable).with_name("zensical")
    done = subprocess.run([zensical, "build", "--strict"], cwd=stage, capture_output=True, text=True, check=False)
    if done.returncode:
        # The rest is only zensical's own stack; its colors break a log.
        raise DocsError(COLOUR.sub("", done.stdout + done.stderr).partition("Traceback")[0])
    return stage / "site"


def filled(text: str) -> str:
    """Return a page with its generated parts."""
    text = PART.sub(lambda found: _part(found[1], found[0]), text)
    return PART.sub(lambda found: _marked(CONTENTS, _contents(text)) if found[1] == CONTENTS else found[0], text)


def _part(name: str, present: str) -> str:
    if name == CONTENTS:
        return present
    try:
        content = api(name.removeprefix("api ")) if name.startswith("api ") else GENERATED[name]()
    except ApiError as error:
        raise DocsError(str(error)) from error
    # A fenced block would be run, as all blocks of the docs are.
    return _marked(name, FENCE.sub(lambda fence: re.sub(r"(?m)^(?=.)", "    ", fence[1]), content))


def _marked(name: str, content: str) -> str:
    return f"<!-- generated: {name} -->\n\n{content.strip()}\n\n<!-- end -->"


def _contents(text: str) -> str:
    """Return a list of the sections of a page, each with the headings below it."""
    lines: list[str] = []
    for level, title in HEADING.findall(text):
        link = f"[{title}](#{anchor_of(title)})"
        if level == "##" or not lines:
            lines.append(f"- {link}")
        else:
            lines[-1] += (" · " if lines[-1].count("](") > 1 else ": ") + link
    return "\n".join(lines)


def anchor_of(title: str) -> str:
    """Return the anchor of a heading, the same on the site and on a code host."""
    return re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
