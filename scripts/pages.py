"""Runs the examples of the documentation, and shows in each page what they gave.

The ```python blocks of a page are one program, read from top to bottom; the value of a block's
last line is shown below it, as in a notebook. A block that fails, fails the page. Blocks marked
```python no-run are shown and not run.

`python scripts/pages.py docs/index.md` runs a page; MkDocs calls `on_files` and
`on_page_markdown` (see mkdocs.yml).
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from textwrap import indent
from typing import Any

FENCE = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PART = re.compile(r"^### ([^\n]+)\n(.*?)(?=^##|\Z)", re.DOTALL | re.MULTILINE)
MEASURED = "benchmarks/"  # the pages that show what the scripts of that folder print
CHANGES = Path(__file__).resolve().parents[1] / "CHANGELOG.md"  # shown as a page of its own
SKIPPED = "no-run"
LONGEST = 600  # seconds that one page may take
ROWS = 8


@dataclass(frozen=True)
class Block:
    """A piece of Python in a page."""

    code: str
    line: int
    runs: bool


@dataclass
class Shown:
    """What a block printed, and its value: as text, as a table, or as a figure."""

    text: str = ""
    table: str = ""
    figure: str = ""  # base64 of a PNG
    title: str = ""


@dataclass
class Page:
    """The name of a page, and what its blocks showed."""

    name: str
    shown: list[Shown] = field(default_factory=list)


def blocks(text: str) -> list[Block]:
    """Return the Python in a page, in its order."""
    return [
        Block(found[2], text.count("\n", 0, found.start(2)) + 1, SKIPPED not in found[1].split())
        for found in FENCE.finditer(text)
    ]


def run_page(path: Path) -> list[Shown]:
    """Run a page here, in a folder of its own."""
    text = path.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder:
        before = Path.cwd()
        os.chdir(folder)
        try:
            shown = [run_block(block, str(path), names) for block in blocks(text) if block.runs]
        finally:
            os.chdir(before)
    return shown


def run_block(block: Block, name: str, names: dict[str, Any]) -> Shown:
    """Run a block among the names of those before it; errors tell the line of the page."""
    tree = ast.parse(block.code, name)
    ast.increment_lineno(tree, block.line - 1)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(tree, name, "exec", dont_inherit=True), names)  # noqa: S102
        value = None
        if last is not None:
            code = compile(ast.Expression(last.value), name, "eval", dont_inherit=True)
            value = eval(code, names)  # noqa: S307
    shown = of_value(value)
    shown.text = (printed.getvalue() + shown.text).rstrip()
    return shown


def of_value(value: object) -> Shown:
    """Return how the value of a block is shown."""
    import pandas as pd

    from ogive.results.plots.figure import Display

    if value is None or isinstance(value, Path):
        return Shown()
    if isinstance(value, Display):
        title = (type(value).__doc__ or "Figure").strip().splitlines()[0].rstrip(".")
        png = value._rendered(".png", 110)  # noqa: SLF001
        return Shown(figure=base64.b64encode(png).decode("ascii"), title=title)
    if isinstance(value, pd.Series):
        value = value.to_frame()
    if isinstance(value, pd.DataFrame):
        return Shown(table=_table(value))
    return Shown(text=value if isinstance(value, str) else repr(value))


def _table(frame: Any) -> str:
    """Return the first rows of a frame, in which names are text and never markup."""
    html = frame.head(ROWS).to_html(border=0, float_format="{:.3g}".format, na_rep="–")
    more = f"<p>{len(frame):,} rows, the first {ROWS} here.</p>" if len(frame) > ROWS else ""
    plain = html.replace('<table border="0" class="dataframe">', "<table>")
    return f'<div class="frame">{plain}{more}</div>'


# What follows is for MkDocs, which runs every page in a Python of its own.


@cache
def results(path: str, text: str) -> Page:
    """Return what a page shows; `text` is part of the key, so that only changed pages run again."""
    del text
    words = [sys.executable, "-W", "error", __file__, "--json", path]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        words, capture_output=True, text=True, timeout=LONGEST, env=environment, check=False
    )
    if done.returncode:
        raise RuntimeError(f"An example of {path} fails:\n{done.stderr}")
    return Page(Path(path).stem, [Shown(**one) for one in json.loads(done.stdout)])


def on_files(files: Any, config: Any) -> Any:
    """Run the pages, two at a time, and add their figures to the files of the site."""
    from mkdocs.structure.files import File

    pages = [
        file.abs_src_path
        for file in files.documentation_pages()
        if any(block.runs for block in blocks(file.content_string))
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        found = list(pool.map(lambda path: results(path, Path(path).read_text("utf-8")), pages))
    for page in found:
        for number, shown in enumerate(page.shown):
            if shown.figure:
                content = base64.b64decode(shown.figure)
                name = _figure_name(page.name, number)
                files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return the page as MkDocs gets it: printed tables folded, results below the code."""
    if page.file.src_uri == CHANGES.name.lower():
        return CHANGES.read_text("utf-8").replace(
            "(CONTRIBUTING.md#deprecations)", "(stability.md)"
        )
    if page.file.src_uri.startswith(MEASURED):
        return folded(markdown)
    return _with_results(markdown, page)


def folded(markdown: str) -> str:
    """Return each ### part as a block that a click opens: what scripts print is long."""
    return PART.sub(
        lambda found: f'??? example "{found[1]}"\n\n{indent(found[2], "    ")}\n\n', markdown
    )


def _with_results(markdown: str, page: Any) -> str:
    """Return the page with what its blocks showed below each of them."""
    if not any(block.runs for block in blocks(markdown)):
        return FENCE.sub(lambda found: _fence(found[2]), markdown)
    path = page.file.abs_src_path
    ran = results(path, Path(path).read_text("utf-8"))
    left = iter(enumerate(ran.shown))

    def with_result(found: re.Match[str]) -> str:
        if SKIPPED in found[1].split():
            return _fence(found[2])
        number, shown = next(left)
        return _fence(found[2]) + _below(shown, _up(page) + _figure_name(ran.name, number))

    return FENCE.sub(with_result, markdown)


def _figure_name(page: str, number: int) -> str:
    return f"figures/{page}_{number}.png"


def _up(page: Any) -> str:
    """Return the way from a page to the root of the documentation."""
    return "../" * page.file.src_uri.count("/")


def _fence(code: str) -> str:
    return f"```python\n{code}```"


def _below(shown: Shown, figure: str) -> str:
    parts = []
    if shown.text:
        parts.append(f"```{{.text .output}}\n{shown.text}\n```")
    if shown.table:
        parts.append(shown.table)
    if shown.figure:
        parts.append(f"![{shown.title}]({figure})")
    return "".join(f"\n\n{part}" for part in parts)


def main(words: list[str]) -> None:
    """Run a page; print what it shows as JSON, or as text."""
    shown = run_page(Path(words[-1]).resolve())
    if words[0] == "--json":
        print(json.dumps([vars(one) for one in shown]))
    else:
        print("\n\n".join(one.text or one.title or "(a table)" for one in shown))


if __name__ == "__main__":
    main(sys.argv[1:])
