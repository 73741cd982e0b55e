"""Responses that are given to a calibration: in memory, in files, or on workers of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ogive.errors import InputError
from ogive.estimation.cluster import check_client, on_cluster, scanned_array
from ogive.estimation.em import EM
from ogive.estimation.fits import Engine
from ogive.responses import Responses, Table, as_responses
from ogive.responses.scanned_responses import ScannedResponses


def given_responses(
    responses: Table | ScannedResponses, engine: str | Engine, settings: Mapping[str, Any]
) -> Responses | ScannedResponses:
    """Responses as they are, or where the workers of a cluster have them."""
    client = settings.get("client", getattr(engine, "client", None))
    if hasattr(responses, "to_delayed") and hasattr(responses, "chunks"):  # a dask array
        if client is None:
            raise InputError(
                "A dask array is calibrated on a cluster: give engine=EM(client=client), or "
                "array.compute()."
            )
        responses = scanned_array(responses)
    if not isinstance(responses, ScannedResponses):
        return responses if isinstance(responses, Responses) else as_responses(responses)
    if client is None:
        return responses
    check_client(client)
    return on_cluster(client, responses)


def rows_of(table: Responses | ScannedResponses, engine: Engine) -> Any:
    """What an engine reads: the cells, or rows that stay where they are."""
    if isinstance(table, Responses):
        return table.cells
    if not isinstance(engine, EM):
        raise InputError(
            f"The {engine.name} engine needs all responses at once, but scanned ones are read in "
            "blocks. Use the em engine, or read them all with read_responses."
        )
    return table.opened


def seen_of(table: Responses | ScannedResponses) -> Responses:
    """A table in which a model sees the same grades and bounds: itself, or a few rows of it."""
    return table if isinstance(table, Responses) else table.digest
