"""One word for one thing: every public signature keeps to the tables in docs/extending.md."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import ogive
from ogive._progress import silent
from ogive.results.base import Result

PAGE = Path(__file__).resolve().parents[1] / "docs" / "extending.md"
NOT_ARGUMENTS = {"self", "cls"}


def words_and_defaults():
    """The words in the first column of the tables, and the defaults that are given there."""
    section = PAGE.read_text(encoding="utf-8").partition("## Words for arguments\n")[2]
    words, defaults = set(), {}
    for line in section.partition("\n## ")[0].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|"):
            named = re.findall(r"`(\w+)`", cells[0])
            words.update(named)
            if len(cells) == 3 and cells[2] and named:
                defaults[named[0]] = cells[2]
    return words, defaults


WORDS, DEFAULTS = words_and_defaults()


def public_objects():
    """Everything that `ogive` exports, and every result that a public call can return."""
    found = {name: getattr(ogive, name) for name in ogive.__all__}
    for module in pkgutil.walk_packages(ogive.__path__, "ogive."):
        importlib.import_module(module.name)
    found |= {each.__name__: each for each in _below(Result)}
    return {name: each for name, each in found.items() if _is_ours(each)}


def _is_ours(each):
    return callable(each) and str(getattr(each, "__module__", "")).startswith("ogive")


def _below(cls):
    for each in cls.__subclasses__():
        if each.__module__.startswith("ogive") and not each.__name__.startswith("_"):
            yield each
        yield from _below(each)


def signatures():
    """Each public callable with its parameters; of results, what is called, not what is kept."""
    for name, each in sorted(public_objects().items()):
        if not inspect.isclass(each):
            yield name, inspect.signature(each)
            continue
        if not issubclass(each, Result | Exception):
            yield name, inspect.signature(each)
        for label, method in inspect.getmembers(each, callable):
            if not label.startswith("_") and _is_ours(method):
                yield f"{name}.{label}", inspect.signature(method)


SIGNATURES = dict(signatures())


def test_the_tables_are_read():
    assert {"confidence", "responses", "X", "n_resamples"} <= WORDS
    assert DEFAULTS["confidence"] == "0.95"


def test_every_parameter_is_a_known_word():
    unknown = {
        f"{where}({name})"
        for where, signature in SIGNATURES.items()
        for name in signature.parameters
        if name not in WORDS | NOT_ARGUMENTS
    }
    assert not unknown


def test_every_word_is_used():
    used = {name for signature in SIGNATURES.values() for name in signature.parameters}
    assert not WORDS - used


def test_a_shared_word_has_one_default(subtests):
    for word in DEFAULTS:
        with subtests.test(word=word):
            given = {
                f"{where}({word}={signature.parameters[word].default})"
                for where, signature in SIGNATURES.items()
                if word in signature.parameters
                and signature.parameters[word].default is not inspect.Parameter.empty
                # None: as set before, or chosen by the call; engines tell nobody by themselves
                and signature.parameters[word].default not in (None, silent)
                and str(signature.parameters[word].default) != DEFAULTS[word]
            }
            assert not given
