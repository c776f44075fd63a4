"""``python -m tests.verify.subject.exactness``: what torch can be told of how exact products in float32 are, undone again.

Torch keeps what it is told in many places, some of which contradict each other, so every case begins as torch does, in a process
of its own.
"""

import os
import sys
import traceback

import torch

from verify.subject.sandbox import GlobalState

TELLING = {
    "matmul": lambda: torch.set_float32_matmul_precision("medium"),
    "cuBLAS": lambda: setattr(torch.backends.cuda.matmul, "allow_tf32", True),
    "cuDNN": lambda: setattr(torch.backends.cudnn, "allow_tf32", False),
    "all": lambda: setattr(torch.backends, "fp32_precision", "tf32"),
    "all of cuDNN": lambda: setattr(torch.backends.cudnn, "fp32_precision", "ieee"),
    "all of oneDNN": lambda: setattr(torch.backends.mkldnn, "fp32_precision", "bf16"),
    "oneDNN's products": lambda: setattr(torch.backends.mkldnn.matmul, "fp32_precision", "bf16"),
    "cuBLAS's products": lambda: setattr(torch.backends.cuda.matmul, "fp32_precision", "tf32"),
    "recurrences": lambda: setattr(torch.backends.cudnn.rnn, "fp32_precision", "ieee"),
}
"""The older ways, and the newer."""
ASKING = (
    torch.get_float32_matmul_precision,
    lambda: torch.backends.cuda.matmul.allow_tf32,
    lambda: torch.backends.cudnn.allow_tf32,
    lambda: torch.backends.fp32_precision,
    lambda: torch.backends.cudnn.fp32_precision,
    lambda: torch.backends.mkldnn.fp32_precision,
    lambda: torch.backends.cuda.matmul.fp32_precision,
    lambda: torch.backends.cudnn.conv.fp32_precision,
    lambda: torch.backends.cudnn.rnn.fp32_precision,
    lambda: torch.backends.mkldnn.matmul.fp32_precision,
    lambda: torch.backends.mkldnn.conv.fp32_precision,
    lambda: torch.backends.mkldnn.rnn.fp32_precision,
)


def told():
    """Whatever torch answers, to each question."""
    found = []
    for ask in ASKING:
        try:
            found.append(ask())
        except RuntimeError:
            found.append("contradicted")
    return found


def undone(before, meanwhile):
    """Something is told after something else, or nothing; it is named if it changed anything, and all is as it was."""
    TELLING.get(before, lambda: None)()
    first, state = told(), GlobalState()
    TELLING[meanwhile]()
    changed = told() != first
    assert state.restore() == (["torch's float32 precision"] if changed else [])
    assert told() == first, (first, told())


def main():
    """Every pair; the number of those that are not undone."""
    bad = 0
    for pair in [(before, meanwhile) for before in ("nothing", *TELLING) for meanwhile in TELLING]:
        if os.fork() == 0:
            try:
                undone(*pair)
            except BaseException:
                sys.stderr.write(f"{pair}: {traceback.format_exc()}")
                os._exit(1)
            os._exit(0)
        bad += os.wait()[1] != 0
    return bad


if __name__ == "__main__":
    sys.exit(main())
