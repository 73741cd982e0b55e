"""Messages of the library in the words of the command line.

The library says target='species'; a person at a terminal types --target species.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ogive.errors import OgiveError

# What a message suggests in Python, and how the same is done with files and options.
_DESCRIBED = r"responses\.described\(items=\{'(\w+)': \[\.\.\.\]\}\)"
_TABLE = r"Give a table of them with --items (columns item, \1)"
REMEDIES = {
    rf"Give a mapping from item to group, or add it: {_DESCRIBED}": f"{_TABLE}, or use --by-prefix",
    _DESCRIBED: r"--items FILE, a table with the columns item and \1",
    r"responses\.select\(items=\[\.\.\.\]\)": "a file without their columns",
    r"responses\.select\(respondents=\[\.\.\.\]\)": "a file without their rows",
    r"\bout with responses\.select\b": "out of the file",
    r"The index of the frame should name (\w+)s\.": (
        r"Its column '\1' should hold names that the responses have."
    ),
    r"\bname these with rename\b": "name these with --name",
    r"\bChoose others with metric and filter\b": "Choose others with --metric and --filter",
    r"\bname these as respondents\b": "name these with --respondents",
    r"\blogs that were read with epochs='first'": "logs read by ogive read LOGS --epochs first",
    r"\bgive a frame, or add them: responses\.described\(respondents=\{'\w+': \[\.\.\.\]\}\)": (
        "or give a long table or a .parquet file that has them as columns"
    ),
    r"\bitem_health\(\)": "ogive health",
    r"\blocal_dependence\(\)( and respondent_fit\(\))?": "ogive diagnose",
    r"\bgive accuracy instead": "give --accuracy instead",
    r" by AIC with compare_models\b": " by AIC, which diagnose shows",
    "`dimension_scale` and `task_scales` ask for those of tasks that you name": (
        "`ogive dimensions` and `ogive tasks` ask for those of tasks that you name"
    ),
    "`dimensionality`": "`ogive diagnose`",
    r"; unsolved='keep' keeps them|, or unsolved='keep'": "",
    r"\bor a Series whose index names them": "or a table whose first column names them",
    r"\bUse NaN (for both )?where\b": "Leave the cell empty where",
    r" \(pandas\.qcut\)": "",
    r", with a Dataset of kind='numbers'": "",
    r"use decode_regression\b": "use decode --pool regressors",
    r"[Uu]se decode_benchmark\b": "use another --pool",
    r", or None\.": ", or leave it out.",
    r" \(table\.set_index\('problem'\)\)": " (the first column)",
    r"ogive\.calibrate\(\w+, '(\w+)'\)": r"ogive calibrate FILE --model \1",
}
_KEYWORD = re.compile(
    r"(?:(?:pass|use|Use|Give|give) )?\b([a-z][a-z_]*)=('[^']*'|\['?\.\.\.'?\]|[\w+-]+(?:\.\d+)?)"
)
# The subject of a sentence, or a name that is no English word.
_SUBJECT = re.compile(
    r"(?:(?<![^.:] )(?<!-)\b([a-z]+)|(?<![\w'-])([a-z]+(?:_[a-z]+)+))"
    r"(?= (?:is|are|should|allows|names|lacks|gives) )"
)
_PLAIN = re.compile(r"[\w.:+/-]+")


def in_command_words(error: OgiveError | OSError, options: Mapping[str, str]) -> str:
    """Return the message of an error with `options`, from parameters to flags, for arguments.

    >>> from ogive.errors import InputError
    >>> error = InputError("Which column? Name one, for example target='kind'.")
    >>> in_command_words(error, {"target": "--target"})
    'Which column? Name one, for example --target kind.'
    """
    text = _with_options(str(error), options)
    return _SUBJECT.sub(lambda found: options.get(found[0], found[0]), text)


def in_command_prose(text: str, options: Callable[[], Mapping[str, str]]) -> str:
    """Return a sentence of a result with flags for the arguments that it suggests.

    Its subjects stay: they are words of the finding, not arguments.
    """
    suggests = "=" in text or any(re.search(pattern, text) for pattern in REMEDIES)
    return _with_options(text, options()) if suggests else text


def _with_options(text: str, options: Mapping[str, str]) -> str:
    """Return the text with what it suggests in Python as it is done with files and options."""
    for pattern, words in REMEDIES.items():
        text = re.sub(pattern, words, text)

    def keyword(found: re.Match[str]) -> str:
        flag = options.get(found[1])
        if flag is None:
            return found[0]
        verb = found[0][: found.start(1) - found.start(0)].replace("pass", "use")
        value = found[2].strip("'")
        if value in ("True", "False"):
            return verb + (flag if value == "True" else f"--no-{flag.lstrip('-')}")
        quoted = value if _PLAIN.fullmatch(value) else f"'{value}'"
        return f"{verb}{flag} {'...' if value.startswith('[') else quoted}"

    return _KEYWORD.sub(keyword, text)
