"""Every public name says what goes in, what comes out and how it is used; the example runs."""

import doctest
import importlib.util
import inspect
import re

import pytest

import ogive as og

NAMES = [name for name in og.__all__ if name != "__version__"]
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(og, name))]
# Of these, some lines are shown but not run; why:
SKIPPED = {
    "DeepDifficultyRegressor": "needs torch, which is an extra of hundreds of megabytes",
    "inspect_ask": "needs Inspect, an extra, and a model to ask",
    "lm_eval_ask": "needs lm-eval, an extra, and a model to ask",
}
EXTRAS: dict[str, str] = {}  # public name: the package that its example needs
PLAIN = doctest.NORMALIZE_WHITESPACE


def examples(name):
    """The examples of a public name and of the public methods of a class."""
    found = doctest.DocTestFinder().find(getattr(og, name), name, globs={})
    return [test for test in found if test.examples and "._" not in test.name]


def test_a_public_name_has_an_example(subtests):
    for name in NAMES:
        with subtests.test(name=name):
            assert name in [test.name for test in examples(name)]


@pytest.mark.parametrize("part", range(4))  # which several processes can share
def test_the_examples_of_a_public_name_run(part, subtests, tmp_path_factory):
    for name in NAMES[part::4]:
        with subtests.test(name), pytest.MonkeyPatch.context() as monkeypatch:
            if name in EXTRAS and importlib.util.find_spec(EXTRAS[name]) is None:
                pytest.skip(f"{name} needs {EXTRAS[name]}: pip install {EXTRAS[name]}")
            monkeypatch.chdir(tmp_path_factory.mktemp("example"))
            said = []
            runner = doctest.DocTestRunner(verbose=False, optionflags=PLAIN)
            for test in examples(name):
                runner.run(test, out=said.append)
            assert runner.failures == 0, "".join(said)


def test_only_examples_that_need_an_extra_are_not_run(subtests):
    for name in NAMES:
        with subtests.test(name=name):
            lines = [line for test in examples(name) for line in test.examples]
            assert any(line.options.get(doctest.SKIP) for line in lines) == (name in SKIPPED)


def test_a_public_function_speaks_of_all_its_parameters(subtests):
    for name in FUNCTIONS:
        with subtests.test(name=name):
            said = inspect.getdoc(getattr(og, name)).split(">>>")[0]
            parameters = inspect.signature(getattr(og, name)).parameters
            assert [one for one in parameters if not re.search(rf"\b{one}\b", said)] == []
