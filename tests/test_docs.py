"""The documentation, without MkDocs: links, navigation, reference, and examples that run."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import pytest

import ogive as og

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
TOLD = [name for name in PAGES if not name.startswith("decisions/0")]  # the others have an index
QUICK = {"extending.md"}  # seconds; the others are run by `make test-all` and `make docs`


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up
    spec.loader.exec_module(module)
    return module


runner, glossary = script("pages"), script("glossary")


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def anchors(page):
    """The names of the headings of a page, as Python-Markdown writes them."""
    titles = re.findall(r"^#+ (.*)$", without_code(text_of(page)), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


def test_every_page_is_in_the_navigation_once():
    text = (ROOT / "mkdocs.yml").read_text()
    named = re.findall(r": (\S+\.md)$", text, re.MULTILINE)
    assert sorted(named) == TOLD
    called = re.findall(r"- (.+): \S+\.md$", text, re.MULTILINE)
    assert len(set(called)) == len(called) == len(TOLD)


def test_links_lead_to_pages_and_headings(subtests):
    for page in PAGES:
        with subtests.test(page=page):
            for target in re.findall(r"\]\(([^)]+)\)", without_code(text_of(page))):
                if target.startswith("http"):
                    continue
                name, _, anchor = target.partition("#")
                other = (DOCS / page).parent / name if name else DOCS / page
                assert other.is_file(), f"{page} links to {target}"
                if anchor and other.suffix == ".md":
                    there = other.resolve().relative_to(DOCS).as_posix()
                    assert anchor in anchors(there), f"{page} links to {target}"


def test_the_readme_links_to_files():
    for target in re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text()):
        assert target.startswith("http") or (ROOT / target).is_file(), target


def test_the_reference_has_every_public_name_once():
    text = "".join(text_of(page) for page in PAGES if page.startswith("reference/"))
    named = re.findall(r"^::: ogive\.(\w+)$", text, re.MULTILINE)
    assert sorted(named) == sorted(set(og.__all__) - {"__version__"})


def test_prose_after_the_parameters_has_a_heading(subtests):
    """Readers of the reference would take the first word of a sentence for a parameter."""
    for name in sorted(set(og.__all__) - {"__version__"}):
        with subtests.test(name=name):
            found = inspect.getdoc(getattr(og, name)) or ""
            _, section, rest = found.partition("Parameters\n----------\n")
            parameters = (
                re.split(r"^(\w+\n-+$|>>>)", rest, flags=re.MULTILINE)[0] if section else ""
            )
            for line in parameters.splitlines():
                if line and not line.startswith(" "):
                    assert re.fullmatch(r"\*{0,2}\w+(, \*{0,2}\w+)*( : .*)?", line), line


def test_examples_compile_even_those_that_are_not_run(subtests):
    for page in PAGES:
        with subtests.test(page=page):
            for block in runner.blocks(text_of(page)):
                compile(block.code, f"{page}, line {block.line}", "exec")


@pytest.mark.parametrize(
    "page",
    [
        page if page in QUICK else pytest.param(page, marks=pytest.mark.slow)
        for page in PAGES
        if any(block.runs for block in runner.blocks(text_of(page)))
    ],
)
def test_the_examples_of_a_page_run(page):
    """In a Python of its own, since one page registers a model."""
    assert runner.results(str(DOCS / page), text_of(page)).shown


@pytest.mark.slow
def test_the_first_page_finds_the_labels_that_it_changes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # the page writes a report
    known = {}
    for block in runner.blocks(text_of("index.md")):
        if block.runs:
            exec(block.code, known)  # noqa: S102 - our own page
    suspects = known["trouble"].to_frame().query("suspect").index
    assert len(suspects) == 7
    assert set(suspects) <= known["spoilt"]


def test_what_benchmarks_print_is_folded_part_by_part():
    made = runner.folded("# A\n\n## B\n\n2 cores\n\n### C\n\n| d |\n\n### E\n\nf\n\n## G\n")
    assert made.count("???") == 2
    assert '??? example "C"\n\n\n    | d |\n' in made
    assert made.index("2 cores") < made.index("???")
    assert made.endswith("## G\n")


def test_every_measured_page_begins_with_a_table_of_its_sections(subtests):
    for path in sorted((DOCS / "benchmarks").glob("*.md")):
        if path.name == "index.md":
            continue
        with subtests.test(page=path.name):
            text = path.read_text(encoding="utf-8")
            sections = re.findall(r"^## (.*)$", text, re.MULTILINE)
            table = text[: text.index("\n## ")]
            assert re.findall(r"^\| \[(.*?)\]\(#", table, re.MULTILINE) == sections
            everywhere = text_of("benchmarks/index.md")
            assert [name for name in sections if f"[{name}]({path.name}#" not in everywhere] == []


def test_the_first_use_of_a_word_links_to_the_glossary():
    text = (
        "# Ability\n\n`ability` [their ability\nhere](x.md)\n\n| ability |\n\nAbilities, ability.\n"
    )
    made = glossary.linked(text, "stories/one.md")
    assert made == text.replace("Abilities,", "[Abilities](../glossary.md#ability){.term},")
    assert glossary.linked("a standard\nerror", "a.md").startswith(
        "a [standard\nerror](glossary.md#"
    )


def test_code_and_what_is_printed_have_no_links():
    text = '```python\nability\n```\n\n    ability\n\n<td>ability</td>\n\n??? example "ability"\n'
    assert glossary.linked(text, "a.md") == text


def test_every_word_of_the_glossary_is_an_anchor_in_order():
    titles = re.findall(r"^## (.*)$", text_of("glossary.md"), re.MULTILINE)
    assert titles == sorted(titles, key=str.lower)
    assert set(glossary.terms().values()) <= anchors("glossary.md")
    assert set(titles) >= {"ability", "difficulty", "discrimination", "guessing", "EAP"}


def test_a_page_is_one_program_and_shows_the_last_value_of_each_block(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 2\nprint('said')\nx + 1\n```\n\n```python no-run\nundefined\n```\n\n"
        "```python\nimport pandas as pd\npd.DataFrame({'<b>': [x]})\n```\n"
    )
    first, second = runner.run_page(page)
    assert first.text == "said\n3"
    assert "&lt;b&gt;" in second.table


def test_an_example_that_fails_names_page_and_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\nx / 0\n```\n")
    with pytest.raises(RuntimeError, match=r'page\.md", line 5'):
        runner.results(str(page), page.read_text())
