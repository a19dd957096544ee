"""Which cluster works, and what is said when it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import dask
from distributed import get_client

_SECONDS_TO_ANSWER = 5


@contextmanager
def on_cluster(booster: Any) -> Iterator[None]:
    """Send the work to the booster's client; else to the current one; else to Dask's own scheduler in this process."""
    client = booster.client or _current_client()
    if client is None:
        yield
        return
    with client.as_current():
        address = client.scheduler.address if client.scheduler else "an address unknown"
        try:
            yield
        except (Exception, CancelledError) as error:
            if _answers(client):
                raise
            raise ConnectionError(f"the scheduler at {address} is lost: {_remedy(booster.checkpoint_dir)}") from error


def _current_client() -> Any:
    """Return the client that Dask itself would use, if any."""
    if dask.config.get("scheduler", None) not in (None, "dask.distributed", "distributed"):
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _answers(client: Any) -> bool:
    """Say whether the scheduler is there."""
    if client.status != "running":
        return False
    try:
        client.sync(client.scheduler.identity, callback_timeout=_SECONDS_TO_ANSWER)
    except Exception:  # whatever it is, it is no answer
        return False
    return True


def _remedy(checkpoint_dir: Any) -> str:
    start = "start a scheduler and its workers, connect a client"
    if checkpoint_dir is None:
        return f"{start}, and fit again; with checkpoint_dir= a fit goes on after its last round"
    return f"{start}, and fit again with this checkpoint_dir: the fit goes on after the last round in {checkpoint_dir}"
