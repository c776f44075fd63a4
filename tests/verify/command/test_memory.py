"""Memory of the command's processes."""

import subprocess
import sys

import pytest

from verify.command.memory import KERNELS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="another C library")

FILLED = """
import resource
import numpy as np
from verify.command.memory import keep_freed
kept = keep_freed()
def fill():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.ones(1 << 19)  # 4 megabytes: 1024 pages of 4096 bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first = fill()
print(kept, all(fill() < first / 4 for _ in range(20)))
"""


def printed(program: str) -> list[str]:
    """The words that a program prints."""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return ran.stdout.split()


def test_an_array_is_made_in_the_memory_of_the_one_before() -> None:
    """Filling the second array of a size brings in hardly any pages; without :func:`keep_freed` it brings in all again."""
    kept, stays = printed(FILLED)
    if kept == "False":
        pytest.skip("the C library has no mallopt")
    assert stays == "True"


GIVEN = """
import numpy as np
from verify.command.memory import give_back, keep_freed
kept = keep_freed()
def resident():
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1])
arrays = [np.ones(1 << 19) for _ in range(20)]
del arrays
before = resident()
print(give_back(), kept and give_back(0), before - resident() > 10_000)
"""


def test_what_is_freed_is_given_back() -> None:
    """Of 80 megabytes that were freed and kept, at least half are no longer the process's (pages have 4096 bytes at least). Where
    a process has less than a gigabyte, it keeps what was freed.
    """
    early, given, less = printed(GIVEN)
    assert early == "False"
    if given == "False":
        pytest.skip("the C library keeps nothing, or gives nothing back")
    assert less == "True"


COLLECTED = """
import gc
from verify.command.memory import collect_now, collect_seldom
if {seldom}:
    collect_seldom()
class Cycle: pass
def cycle():
    one = Cycle()
    one.itself = one
cycle()
collect_now()
print(sum(type(each) is Cycle for each in gc.get_objects()), gc.get_freeze_count() > 1_000)
cycle()
collect_now()
print(sum(type(each) is Cycle for each in gc.get_objects()))
"""


@pytest.mark.parametrize("seldom", [True, False])
def test_cycles_are_thrown_away_and_the_rest_is_passed_over(seldom: bool) -> None:
    """The latter in processes of the command's own, which ask for cycles seldom; what is made later is collected, too."""
    assert printed(COLLECTED.format(seldom=seldom)) == ["0", str(seldom), "0"]


SAID = """
import os, sys
from verify.command.cli import main
main(["list"])
print("torch" in sys.modules, os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"])
"""


@pytest.mark.parametrize("user", [None, "7"])
def test_kernels_of_single_shapes_are_not_kept_by_the_thousand(
    user: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any command says so before torch is imported, which reads it then; what the user has set stays."""
    monkeypatch.delenv(KERNELS[0], raising=False)
    if user is not None:
        monkeypatch.setenv(KERNELS[0], user)
    assert printed(SAID)[-2:] == ["False", user or str(KERNELS[1])]


LEFT = """
import atexit, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from verify.command.memory import leave

class Apart:
    def __del__(self):
        print("taken apart")

apart = Apart()
atexit.register(print, "registered")
def told():
    time.sleep(0.2)
    print("waited")
threading.Thread(target=told).start()
pool = ThreadPoolExecutor(2)  # its threads wait for work until they are told that there is none
pool.submit(len, "").result()
print("said", end=" ")
leave({status})
"""


@pytest.mark.parametrize("status", [0, 3])
def test_a_process_that_leaves_has_done_what_it_was_to_do(status: int) -> None:
    """Its threads are waited for, what is registered is done and what was said is written; nothing is taken apart."""
    ran = subprocess.run(
        [sys.executable, "-c", LEFT.format(status=status)], capture_output=True, text=True, check=False
    )
    assert ran.stdout.split() == ["said", "waited", "registered"]
    assert ran.returncode == status
