"""Tasks on the workers of a ``dask.distributed`` cluster: each in a process of its own there, as on this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from verify.faults import Unusable
from verify.pool import Lost, run_task

Task = TypeVar("Task")
Result = TypeVar("Result")


def run_on_cluster(
    work: Callable[[Task], Result],
    tasks: Sequence[Task],
    address: str,
    timeout: Callable[[Task], float | None],
) -> Generator[tuple[int, Result | Lost], None, None]:
    """Do all tasks on a cluster, and yield the number of each with its outcome as it is done.

    Tasks of a worker that is lost are done by another. To close the iterator, or an interrupt, takes back what is not begun.

    Args:
        work: what is done with a task; the workers import it.
        tasks: they must be picklable.
        address: that of the scheduler, such as ``tcp://127.0.0.1:8786``.
        timeout: seconds after which a task is stopped.

    Raises:
        Unusable: the extra is not installed, or there is no scheduler at the address.
    """
    try:
        from distributed import Client, as_completed
    except ModuleNotFoundError:
        raise Unusable("--scheduler needs dask.distributed: pip install 'attnspec[cluster]'") from None
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise Unusable(f"no scheduler answers at {address}: {error}") from None
    with client:
        futures = {
            client.submit(_alone, work, task, timeout(task), pure=False): place
            for place, task in enumerate(tasks)
        }
        try:
            for future in as_completed(futures):
                why = future.exception()
                lost = Lost(f"its worker was lost: {why}", error=why)
                yield futures[future], future.result() if why is None else lost
        finally:
            client.cancel(list(futures))


def _alone(work: Callable[[Any], Any], task: Any, timeout: float | None) -> Any:
    """Do a task in a process of its own, on a worker of the cluster."""
    # multiprocessing lets a daemon, which a worker with a nanny is, have no children; those of the pool end with it.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    return run_task(work, task, timeout)


__all__ = ["run_on_cluster"]
