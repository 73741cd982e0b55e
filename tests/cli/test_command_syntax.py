import pytest

from ogive.cli.command_syntax import in_command_prose, in_command_words
from ogive.errors import InputError

OPTIONS = {
    "target": "--target",
    "keep_negative": "--keep-negative",
    "layout": "--layout",
    "engine": "--engine",
    "n_jobs": "--jobs",
}


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("Name one: target='a b'.", "Name one: --target 'a b'."),
        ("Use engine='em'.", "Use --engine em."),
        ("Rename them, or pass layout='wide'.", "Rename them, or use --layout wide."),
        ("Use keep_negative=True.", "Use --keep-negative."),
        ("Use keep_negative=False.", "Use --no-keep-negative."),
        ("n_jobs is 0, but it should not be.", "--jobs is 0, but it should not be."),
        ("Name the others: classes=[...].", "Name the others: classes=[...]."),
        ("The target is missing in 2 rows.", "The target is missing in 2 rows."),
        (
            "The index of the frame should name items.",
            "Its column 'item' should hold names that the responses have.",
        ),
        (
            "Correct it. Use NaN where an item was never asked.",
            "Correct it. Leave the cell empty where an item was never asked.",
        ),
    ],
)
def test_arguments_become_options_where_the_command_has_them(python, command):
    assert in_command_words(InputError(python), OPTIONS) == command


@pytest.mark.parametrize(
    ("python", "command"),
    [
        ("If they differ, name these with rename.", "If they differ, name these with --name."),
        ("If rows are items, pass layout='items'.", "If rows are items, use --layout items."),
        ("target is ahead: engine = 2.", "target is ahead: engine = 2."),  # names of respondents
        ("Choose others with metric and filter.", "Choose others with --metric and --filter."),
    ],
)
def test_sentences_of_results_suggest_options_and_keep_their_subjects(python, command):
    assert in_command_prose(python, lambda: OPTIONS) == command


def test_checks_are_called_as_commands():
    for said, told in {
        "see local_dependence().": "see ogive diagnose.",
        "see local_dependence() and respondent_fit().": "see ogive diagnose.",
        "variants=['...'] names them": "--variants ... names them",
    }.items():
        assert in_command_prose(said, lambda: {"variants": "--variants"}) == told
