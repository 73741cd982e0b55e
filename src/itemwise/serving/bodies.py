"""From the bytes of a request to the JSON in it, within limits."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NoReturn

from itemwise.files import size_for_people
from itemwise.serving.refusals import RefusalError

if TYPE_CHECKING:
    from starlette.requests import Request

    from itemwise.serving.contract import RequestLimits


async def read_body(request: Request, limits: RequestLimits) -> bytes:
    """The whole body; refused as soon as it is known to be too large, too slow or no JSON."""
    _check_headers(request, limits)
    parts, size = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise _too_large(limits)
                parts.append(part)
    except TimeoutError:
        raise RefusalError(
            408, f"The body did not arrive within {limits.seconds:g} seconds."
        ) from None
    return b"".join(parts)


def parse(body: bytes) -> Any:
    """Strict JSON: UTF-8, no field twice, and no NaN or infinity by name; by size, rows tell."""
    try:
        return json.loads(
            body.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=_once
        )
    except UnicodeDecodeError as error:
        raise RefusalError(
            400, f"The body is not UTF-8 text: byte {error.start + 1:,} cannot be read."
        ) from None
    except json.JSONDecodeError as error:
        raise RefusalError(
            400,
            f"The body is not valid JSON: {error.msg} at line {error.lineno:,}, "
            f"column {error.colno:,}.",
        ) from None
    except RecursionError:
        raise RefusalError(400, "The body is nested too deeply.") from None
    except ValueError:  # Python reads no whole numbers of more than 4,300 digits
        raise RefusalError(400, "The body has a number with too many digits.") from None


def _check_headers(request: Request, limits: RequestLimits) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusalError(
            415, "The body should be JSON, with the header Content-Type: application/json."
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RefusalError(415, "The body is compressed. Send it as it is.")
    if "content-length" in request.headers and "transfer-encoding" in request.headers:
        raise RefusalError(400, "The request has two lengths: Content-Length and in chunks.")
    length = request.headers.get("content-length", "")
    # Of any length itself, so compared by digits before it is read as a number.
    if length.isdecimal() and (len(length) > 18 or int(length) > limits.body_bytes):
        raise _too_large(limits)


def _too_large(limits: RequestLimits) -> RefusalError:
    return RefusalError(
        413,
        f"The body is larger than {size_for_people(limits.body_bytes)}. "
        "Send fewer rows in a request.",
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a field that comes twice, nobody can say which value is meant."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise RefusalError(400, f"The body has the field {twice[:60]!r} twice in one object.")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise RefusalError(400, f"The body holds {name}, which JSON lacks. Missing values are null.")
