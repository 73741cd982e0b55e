"""Links the first use of each word of the glossary in a page; MkDocs calls `on_page_markdown`.

Words are linked in running text alone: not in code, headings, tables, links, or blocks of HTML.
"""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

GLOSSARY = "glossary.md"
SOURCE = Path(__file__).resolve().parents[1] / "docs" / GLOSSARY
# Words that also mean something else in English: only their longer forms are linked.
EVERYDAY = frozenset({"information", "interval", "item", "pool", "response", "anchor"})
# What may not be touched: blocks of code; headings, tables, directives, HTML, indents; code,
# links (which may go on in the next line), tags, attributes, addresses.
KEPT = re.compile(
    r"^( *)(`{3,}|~{3,}).*?^\1\2`*[ ]*$"
    r"|^[ ]*(?:#|\||:::|\?\?\?|!!!|<|[ ]{4})[^\n]*$"
    r"|`[^`]*`|!?\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])|<[^>]*>|\{[^}]*\}|https?://\S+",
    re.DOTALL | re.MULTILINE,
)


@cache
def terms() -> dict[str, str]:
    """Return the words of the glossary and their anchors, the longest first."""
    titles = re.findall(r"^## (.+)$", SOURCE.read_text("utf-8"), re.MULTILINE)
    found = {title: title.lower().replace(" ", "-") for title in titles if title not in EVERYDAY}
    return dict(sorted(found.items(), key=lambda pair: -len(pair[0])))


def pattern(term: str) -> re.Pattern[str]:
    """Return a word, its plural, or itself with a capital; abbreviations as they are."""
    if term.isupper():
        return re.compile(rf"(?<![\w-]){term}(?![\w-])")
    stem = term[:-1] + "(?:y|ies)" if term.endswith("y") else term + "s?"
    words = stem.replace(" ", r"[ \n]")
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.IGNORECASE)


def linked(markdown: str, where: str) -> str:
    """Return a page with the first use of each word as a link to the glossary."""
    target = posixpath.relpath(GLOSSARY, posixpath.dirname(where) or ".")
    for term, anchor in terms().items():
        kept = [found.span() for found in KEPT.finditer(markdown)]
        for found in pattern(term).finditer(markdown):
            if not any(start < found.end() and found.start() < end for start, end in kept):
                link = f"[{found[0]}]({target}#{anchor}){{.term}}"
                markdown = markdown[: found.start()] + link + markdown[found.end() :]
                break
    return markdown


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Link the words of every page but the glossary itself and what scripts printed."""
    where = page.file.src_uri
    return markdown if where in (GLOSSARY, "changelog.md") else linked(markdown, where)
