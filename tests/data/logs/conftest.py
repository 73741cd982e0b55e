"""Small logs as the harnesses write them."""

import json

import pytest

DATE = "2025-01-02T03-04-05.000006"


def row(number, score, metric="acc", **more):
    """One row of an lm-eval sample log."""
    return {
        "doc_id": number,
        "doc": {"question": f"question {number}"},
        "target": "yes",
        "arguments": {"gen_args_0": {"arg_0": "prompt"}},
        "filter": "none",
        "doc_hash": f"hash{number}",
        metric: score,
        **more,
    }


@pytest.fixture
def lm_eval(tmp_path):
    """Write samples of a model on a task; scores become rows, dictionaries are rows."""

    def write(scores, model="lab__one", task="sums", date=DATE, results=None, end="\n"):
        folder = tmp_path / "logs" / model
        folder.mkdir(parents=True, exist_ok=True)
        rows = [one if isinstance(one, dict) else row(at, one) for at, one in enumerate(scores)]
        path = folder / f"samples_{task}_{date}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)) + end)
        if results is not None:
            (folder / f"results_{date}.json").write_text(json.dumps(results))
        return path

    return write


@pytest.fixture
def folder(tmp_path):
    """The folder that the logs are written to."""
    return tmp_path / "logs"
