"""`itemwise demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from itemwise.cli.console import Console
from itemwise.cli.decode import finished, show_decoding
from itemwise.cli.errors import resumable
from itemwise.cli.files import write_page
from itemwise.cli.options import Jobs, Json, Quiet, Seed
from itemwise.files import make_folder

ROWS = 16


def demo(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Directory to write to; made if it is missing.")
    ] = Path("itemwise-demo"),
    jobs: Jobs = -1,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Decode the data sets of scikit-learn, some of their labels changed on purpose.

    Trains 132 classifiers on each of seven data sets: which data sets are hard, which labels look
    wrong, who is strongest, which data sets would do. Then a tour of all other questions: a
    leaderboard, short and adaptive benchmarks, the confusion matrix, a portfolio, predicted
    difficulty, capability. Writes tables, figures, item banks and one page that shows it all.
    Takes a minute or two and needs no network.
    """
    folder = make_folder(out)
    from itemwise.demo import demonstrate
    from itemwise.report import read_benchmark, write_folder

    console = Console(quiet, json)
    with console.progress("Running classifiers") as report, resumable():
        found = demonstrate(folder / "answers", n_jobs=jobs, random_state=seed, progress=report)
    with console.progress("Comparing and drawing"), resumable():
        chapters = read_benchmark(found.decoding)
        files = write_folder(chapters.contents(), folder)
        settings = {"labels changed on purpose": len(found.changed), "seed": seed}
        page = write_page(
            folder, [chapters, found.tour()], "Itemwise demonstration", settings, found.datasets
        )
    show_decoding(console, chapters, folder)
    console.say(f"\n{found.meaning} Strong and weak classifiers are right on them this often:")
    console.show(found.suspects.head(ROWS).round(2))
    console.say(f"\nReport: {page}")
    finished(console, chapters, folder, [*files, page], changed=found.changed)
