"""What a page says first: its sections in the order of a reader's questions, five sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ogive.report.sections import Section

MOST_SENTENCES = 5
WHO, FOUND = "Who is better", "What was found"
TITLES = {"items": "Which items to look at", "check": "Whether to believe it"}
PARTS = ("finding", *TITLES)
_END = re.compile(r"(?<=[.!?])\s+")
_SHORTENED = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|cf|al|approx)\.$")
_NUMBERED = re.compile(r"(?:^|[\s(])(?:pp?|no|No|Fig|Eq)\.\s\d")


def sentences_in(text: str) -> list[str]:
    """Split a text where a sentence ends; nothing inside brackets ends one.

    A sentence may begin with a name in small letters, and end with a name of one letter. Names may
    hold a bracket alone, so that brackets which the text never closes are not waited for.

    >>> sentences_in("A leads (p. 5. It says so). gpt-4 is next. Three of 6 pairs differ.")
    ['A leads (p. 5. It says so).', 'gpt-4 is next.', 'Three of 6 pairs differ.']
    """
    found, parts = [""], _END.split(text)
    for k, part in enumerate(parts):
        open_ = found[-1].count("(") > found[-1].count(")")
        closed = any(each.count(")") > each.count("(") for each in parts[k:])
        word = found[-1][found[-1].rfind(" ") + 1 :]
        shortened = _SHORTENED.search(word) or _NUMBERED.match(f"{word} {part}")
        ends = not (open_ and closed) and not shortened
        found = [*found, part] if ends else [*found[:-1], f"{found[-1]} {part}"]
    return [part for part in found if part]


def in_parts(sections: Sequence[Section]) -> Iterator[tuple[str, list[Section]]]:
    """Yield the title of each part of the page that has sections, and these."""
    for part in PARTS:
        mine = [section for section in sections if section.part == part]
        if mine:
            yield TITLES.get(part) or (WHO if mine[0].ranks else FOUND), mine


def in_short(sections: Sequence[Section]) -> list[tuple[Section, str]]:
    """Return at most five sentences, each with its section: findings, items, checks.

    Of each part at least one is kept. What is left goes to the second sentence of the first
    section, then to the first sentences of the others.
    """
    said = [(section, sentences_in(section.headline)) for _, mine in in_parts(sections)
            for section in mine if section.headline]  # fmt: skip
    firsts = [(section, texts[0]) for section, texts in said]
    chosen = list({section.part: (section, text) for section, text in reversed(firsts)}.values())
    more = [(section, text) for section, texts in said[:1] for text in texts[1:2]]
    chosen += [each for each in [*more, *firsts] if each not in chosen]
    order = [(section, text) for section, texts in said for text in texts]
    return sorted(chosen[:MOST_SENTENCES], key=order.index)
