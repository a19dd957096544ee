"""``gapmin reproduce``: the paper's tables and figures, beside the numbers that it prints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gapmin.cli import _options as options
from gapmin.cli._common import FAILED, INTERRUPTED, refuse, refuse_below_one, require
from gapmin.cli._printing import print_listing
from gapmin.reproduce import NAMES, get_experiment

if TYPE_CHECKING:
    from gapmin.reproduce.cells import Outcome
    from gapmin.reproduce.experiment import Plan
    from gapmin.reproduce.run import Reproduction
    from gapmin.reproduce.runner import Completed

    Plans = Mapping[str, Plan]

_NEEDS = ("typer", "rich", "matplotlib", "jinja2", "pyarrow", "mlxtend", "pooch")
_SHOWN_FAILURES = 5


class Protocol(StrEnum):
    """How networks are trained."""

    SMALL = "small"
    PAPER = "paper"


class Backend(StrEnum):
    """Where cells are run."""

    JOBLIB = "joblib"
    DASK = "dask"


def reproduce(
    names: Annotated[list[str], typer.Argument(help="list, all, or some of table1 … table8, figure1 … figure5.")],
    quick: Annotated[bool, typer.Option("--quick", help="Few splits and settings: minutes.")] = False,
    splits: Annotated[int | None, typer.Option(help="Random splits. [default: see list]")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs of networks. [default: the paper's 120]")] = None,
    protocol: Annotated[
        Protocol, typer.Option(help="Of networks: what two cores manage, or the paper's, for a GPU.")
    ] = Protocol.SMALL,
    device: Annotated[
        str, typer.Option(help="Where networks of the paper's protocol are trained: cpu, cuda, mps.")
    ] = "cpu",
    seed: Annotated[int, typer.Option(help="Which splits and random numbers.")] = 0,
    jobs: options.Jobs = None,
    backend: Annotated[Backend, typer.Option(help="Where to run.")] = Backend.JOBLIB,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask scheduler: tcp://HOST:PORT.")] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run cells again that failed.")] = False,
    out: Annotated[Path, typer.Option(help="Folder of results; the same command goes on there.")] = Path(
        "gapmin-results"
    ),
) -> None:
    """Run tables and figures of the paper, beside its numbers.

    Finished cells are kept in the folder, whatever ends the run: the same command goes on where it stopped.
    """
    refuse_below_one("reproduce", splits=splits, epochs=epochs, jobs=jobs)
    if seed < 0:
        refuse("reproduce", f"--seed is {seed}: take 0 or more")
    if "list" in names:
        _list(protocol)
        return
    chosen = _chosen(names)
    if (backend is Backend.DASK) != (scheduler is not None):
        refuse("reproduce", "--backend dask and --scheduler go together: give both or none")
    _check_folder(out)
    require(*_NEEDS, extra="reproduce")
    _check_device(device, protocol)
    plans = {
        name: get_experiment(name).plan(
            splits=splits, seed=seed, quick=quick, epochs=epochs, protocol=protocol.value, device=device
        )
        for name in chosen
    }
    runnable = _with_data(plans, _unfinished(plans, out, retry_failed), everything="all" in names)
    _reproduce(runnable, out, _completed(jobs, scheduler), retry_failed)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog="Example: gapmin reproduce table2 --quick")(reproduce)


def _check_folder(out: Path) -> None:
    """Refuse a folder that cannot be made or written to, before any work is done."""
    nearest = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not nearest.is_dir():
        refuse("reproduce", f"--out is {out}, but {nearest} is a file: name a folder")
    if not os.access(nearest, os.W_OK):
        refuse("reproduce", f"--out is {out}, but {nearest} cannot be written to: name another folder")


def _check_device(device: str, protocol: Protocol) -> None:
    """Refuse a device that is not here, before any work is done."""
    if device == "cpu":
        return
    if protocol is not Protocol.PAPER:
        refuse("reproduce", f"--device is {device}: the small protocol runs on the cpu, give --protocol paper too")
    require("torch", extra="deep")
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device, False):
        here = ", ".join(["cpu", *(name for name, is_there in there.items() if is_there)])
        refuse("reproduce", f"--device is {device}, which is not on this machine: use one of {here}")


def _chosen(names: Sequence[str]) -> list[str]:
    unknown = [name for name in names if name not in (*NAMES, "all")]
    if unknown:
        refuse("reproduce", f"there is no {unknown[0]!r}: use list, all, or some of {', '.join(NAMES)}")
    return [name for name in NAMES if name in names or "all" in names]


def _unfinished(plans: Plans, out: Path, retry_failed: bool) -> list[str]:
    """Return the experiments that have cells to run: the others can be shown without their data."""
    from gapmin.reproduce.runner import missing
    from gapmin.reproduce.store import Store, StoreError

    try:
        store = Store(out).read()
    except StoreError as error:
        refuse("reproduce", str(error))
    return [
        name
        for name, plan in plans.items()
        if missing(get_experiment(name).grid(plan), store, retry_failed=retry_failed)
    ]


def _with_data(plans: Plans, unfinished: Sequence[str], everything: bool) -> Plans:
    """Return what can be run; refuse where something asked for by name cannot, or nothing that needs data can."""
    from gapmin.reproduce.run import lacking

    reasons = {name: reason for name in unfinished if (reason := lacking(get_experiment(name), plans[name]))}
    runnable = {name: plan for name, plan in plans.items() if name not in reasons}
    if reasons and (
        not everything or not any(get_experiment(name).data_sets(plan.protocol) for name, plan in runnable.items())
    ):
        name, reason = next(iter(reasons.items()))
        others = f" (nor can {', '.join(list(reasons)[1:])})" if len(reasons) > 1 else ""
        refuse("reproduce", f"{name} cannot be run{others}: {reason}")
    for name, reason in reasons.items():
        typer.echo(f"{name} is left out: {reason}\n", err=True)
    return runnable


def _completed(jobs: int | None, scheduler: str | None) -> Completed:
    from gapmin.reproduce.runner import on_dask, on_this_machine

    if scheduler is None:
        return on_this_machine(jobs or -1)
    require("distributed", extra="dask")
    try:
        return on_dask(scheduler)
    except (OSError, ValueError) as error:
        refuse("reproduce", f"--scheduler is {scheduler}, where no scheduler answers ({error}): start one there first")


def _list(protocol: Protocol) -> None:
    from gapmin.datasets.catalogue import missing_files

    rows = []
    for name in NAMES:
        each = get_experiment(name)
        needs = each.data_sets(protocol)
        absent = [need for need in needs if missing_files(need)]
        state = f"missing: {', '.join(absent)}" if absent else "here" if needs else "embedded"
        rows.append((name, each.title, str(each.splits), state))
    more = "gapmin reproduce NAME runs one; gapmin data fetch NAME gets data."
    print_listing(("name", "what it shows", "splits", "data"), rows, more, number="splits")


def _reproduce(plans: Plans, out: Path, completed: Completed, retry_failed: bool) -> None:
    from rich.console import Console

    from gapmin._utils.progress import progress_on
    from gapmin.reproduce import run
    from gapmin.reproduce.runner import WorkersLostError
    from gapmin.reproduce.store import StoreError

    kept = f"what is done is kept in {out}, the same command goes on"
    try:
        with progress_on(Console(stderr=True), "gapmin reproduce") as on_progress:
            found = run.reproduce(plans, out, completed, retry_failed=retry_failed, on_progress=on_progress)
    except KeyboardInterrupt:
        typer.echo(f"gapmin reproduce: interrupted; {kept}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except WorkersLostError as error:
        typer.echo(f"gapmin reproduce: {error}", err=True)
        raise typer.Exit(FAILED) from None
    except (StoreError, FileNotFoundError) as error:
        refuse("reproduce", str(error))
    except OSError as error:
        typer.echo(f"gapmin reproduce: {out} cannot be written to ({error.strerror}); {kept}", err=True)
        raise typer.Exit(FAILED) from None
    _show(found, out)
    if found.failed:
        raise typer.Exit(FAILED)


def print_failures(failed: Sequence[Outcome]) -> None:
    """Write the first cells that failed, and why, to standard error."""
    for outcome in failed[:_SHOWN_FAILURES]:
        cell = outcome.cell
        typer.echo(f"failed: {cell.problem}, {cell.method}, split {cell.split}: {outcome.failure}", err=True)


def _show(found: Reproduction, out: Path) -> None:
    from rich.console import Console

    from gapmin.reporting import to_rich

    console = Console(highlight=False)
    for section in found.sections.values():
        console.print()
        console.print(to_rich(section))
    print_failures(found.failed)
    if found.failed:
        typer.echo(
            f"gapmin reproduce: {len(found.failed)} of {found.n_cells} cells failed; --retry-failed runs them again",
            err=True,
        )
    console.print(
        f"\n{found.n_run} cells run, {found.n_cells - found.n_run} kept from before; tables and figures: {out}, "
        f"page: {found.page}",
        markup=False,
        soft_wrap=True,
    )
