"""Write docs/llms.txt: the pages of the docs with their first sentences, for language models (https://llmstxt.org).

    python scripts/llms_txt.py

`scripts/docs` runs it before it builds the site.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/llms.txt"
_SECTION = re.compile(r"^  - (?P<section>[^:]+):$")
_ENTRY = re.compile(r"^ +- (?:(?P<title>[^:]+): )?(?P<path>\S+\.md)$")


def text() -> str:
    """Return the content of the file: the navigation of mkdocs.yml with a sentence for each page."""
    lines = [
        "# structkit",
        "",
        "> Instances of Python types from any language model: structkit masks the tokens that cannot lead to a valid "
        "value. Install `structkit-llm`, import `structkit`.",
    ]
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    pages: list[str] = []
    for line in navigation.splitlines():
        if section := _SECTION.match(line):
            if not any(line.startswith("## ") for line in lines):
                lines += _listed("Start", pages)
                pages = []
            lines += ["", f"## {section['section']}", ""]
        elif entry := _ENTRY.match(line):
            found = f"- [{_title(entry['path'])}]({entry['path']}): {_sentence(entry['path'])}"
            if re.match(r"  - [^:]+: ", line):
                pages.append(found)
            else:
                lines.append(found)
    lines += _listed("More", pages)
    return "\n".join(lines) + "\n"


def _listed(section: str, pages: list[str]) -> list[str]:
    return ["", f"## {section}", "", *pages]


def _content(path: str) -> str:
    source = (ROOT / "docs" / path).read_text(encoding="utf-8")
    if include := re.match(r'--8<-- "(.*)"', source.strip()):
        return (ROOT / include[1]).read_text(encoding="utf-8")
    return source


def _title(path: str) -> str:
    found = re.search(r"^# (.+)$", _content(path), flags=re.M)
    return found[1] if found else path


def _sentence(path: str) -> str:
    """Return the first sentence of a page that is neither a heading, a block, a list nor a table."""
    paragraphs = re.sub(r"^```.*?^```$", "", _content(path), flags=re.M | re.S).split("\n\n")
    for paragraph in paragraphs:
        plain = " ".join(paragraph.split())
        if plain and plain[0].isalpha() | (plain[0] in "`["):
            plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", plain)
            return re.split(r"(?<=[.:])\s", plain)[0].rstrip(":.") + "."
    return "Names, signatures and examples."


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
