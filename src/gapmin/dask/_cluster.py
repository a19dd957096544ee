"""Which cluster works, and what is said when it is gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from distributed import get_client


@contextmanager
def on_cluster(booster: Any) -> Iterator[None]:
    """Send the work to the booster's client; else to the current one; else to Dask's threads in this process."""
    client = booster.client
    if client is None:
        try:
            client = get_client()
        except ValueError:
            yield
            return
    with client.as_current():
        yield
