"""Every kernel of the corpus at ten seeds, with seconds: ``python -m tests.verify.comparing.seeds [SEEDS]``."""

from __future__ import annotations

import sys
import time

from tests.verify.comparing.kernels import KERNELS
from verify.comparing.comparing import compare


def main(seeds: int) -> int:
    """Print a line for each kernel; how many were judged wrongly."""
    missed = 0
    for each in KERNELS:
        found, spent = [], []
        for seed in range(seeds):
            began = time.process_time()
            found.append(
                compare(
                    each.reference,
                    each.candidate,
                    inputs=each.inputs,
                    init_inputs=each.init_inputs,
                    seed=seed,
                )
            )
            spent.append(time.process_time() - began)
        wrong = [one for one in found if (one.verdict == "conforms") is not each.right]
        missed += len(wrong)
        worst = (wrong or found)[0]
        most = max(one.sigma for one in found)
        sign = "✗" if wrong else "✓"
        print(f"{sign} {each.name:24} at most {most:8.3g} σ {max(spent):6.2f} s  {worst.headline}")  # noqa: T201
        for note in worst.notes:
            print("     ", note)  # noqa: T201
        if wrong:
            for case in worst.cases:
                if case.verdict != "conforms":
                    print("     ", case)  # noqa: T201
    return missed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10))
