"""What choosing an algorithm by features is worth on ASlib scenarios.

python benchmarks/algorithm_selection.py [FOLDER [SCENARIO ...]]

FOLDER holds scenarios of the public repository coseal/aslib_data; by default those under
$ITEMWISE_SHARED. Each is used with its own ten folds. Unsuccessful runs count as ten times the
cut-off (PAR10), and the time of computing features is charged where the scenario states it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import process_time

import itemwise as iw
from common import SHARED, machine

# Scenarios on which the default was not chosen, with published shares of the closed gap, feature
# costs charged: Run2Survive and SATzilla'11 as reported by Tornede et al. (2020).
REPORTED = {
    "SAT11-INDU": (0.34, 0.16),
    "MAXSAT-PMS-2016": (0.59, 0.41),
    "SAT12-INDU": (0.27, 0.36),
    "CPMP-2015": (0.19, 0.15),
}
HEADER = ("scenario", "size", "closed gap", "± 1.96 se", "Run2Survive", "SATzilla'11", "CPU s")


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0]) if arguments else SHARED / "data" / "aslib"
    known = [name for name in REPORTED if (folder / name).is_dir()]
    names = arguments[1:] or known or ["ASP-POTASSCO", "BNSL-2016", "CSP-Minizinc-Time-2016"]
    print(f"\n## Algorithm selection\n\n{machine()}. AlgorithmSelector of kind 'auto'.\n")
    print("|", " | ".join(HEADER), "|\n|" + "---|" * len(HEADER))
    for name in names:
        scenario = iw.read_aslib(folder / name)
        begin = process_time()
        found = iw.evaluate_selectors(scenario)
        seconds = process_time() - begin
        row = found.to_frame().loc["auto"]
        size = "{} × {}".format(*scenario.performance.shape)
        published = [f"{each:.2f}" for each in REPORTED.get(name, ())] or ["–", "–"]
        gap, reach = f"{row['closed_gap']:.2f}", f"{1.96 * row['closed_gap_se']:.2f}"
        print(
            "|", " | ".join([name, size, gap, reach, *published, f"{seconds:.0f}"]), "|", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
