"""One process, or several that ``torchrun`` has started: which this is, and what it shares with the others."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

__all__ = ["Processes", "processes"]


@dataclass(frozen=True)
class Processes:
    """This process, one of ``ranks``, and what it computes on."""

    rank: int
    ranks: int
    device: torch.device

    def total(self, x: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.ranks > 1:
            x = x.clone()
            dist.all_reduce(x)
        return x

    def wait(self) -> None:
        """Until all have come here."""
        if self.ranks > 1:
            dist.barrier()

    def spread(self, model: nn.Module, layers: nn.ModuleList, sharding: str) -> nn.Module:
        """The model as all processes train it: a copy in each (DDP), or parameters, gradients and the optimiser's state in
        parts, each layer's put together when it is its turn (FSDP2). One process alone keeps it as it is.
        """
        if self.ranks == 1:
            return model
        if sharding == "ddp":
            return DistributedDataParallel(model)
        mesh = init_device_mesh(self.device.type, (self.ranks,))
        for part in (*layers, model):
            fully_shard(part, mesh=mesh)
        return model

    def leave(self) -> None:
        """End this process, if it is one of several, without the interpreter's own end. Gloo's threads let go of tensors a little
        after a sum is there, and need the interpreter for it, which would abort; torch's caches keep the group, so that nothing
        waits for these threads.
        """
        if self.ranks > 1:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)


@contextmanager
def processes(device: str) -> Iterator[Processes]:
    """Those that ``torchrun`` tells of in the environment, or this one alone."""
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        yield Processes(0, 1, torch.device(device))
        return
    of = torch.device(device, int(os.environ["LOCAL_RANK"])) if device == "cuda" else torch.device(device)
    if of.type == "cuda":
        torch.cuda.set_device(of)
    dist.init_process_group("nccl" if of.type == "cuda" else "gloo")
    try:
        yield Processes(dist.get_rank(), ranks, of)
        dist.barrier()  # none leaves while another one still reads what it sent
    finally:
        dist.destroy_process_group()
