"""Uniform integers from a generator, and whether it can be drawn from."""

import torch
from torch import Generator, Tensor


def random_integers(count: int, device: torch.device, generator: Generator) -> Tensor:
    """Uniform on 0..2^63 − 1."""
    return torch.empty(count, dtype=torch.int64, device=device).random_(generator=generator)


def random_bytes(count: int, device: torch.device, generator: Generator) -> Tensor:
    """Uniform on 0..255: eight from each integer of 64 bits."""
    words = torch.empty(-(-count // 8), dtype=torch.int64, device=device)
    return words.random_(-(2**63), None, generator=generator).view(torch.uint8)[:count]


def check_generator(formula: str, name: str, device: torch.device, generator: Generator) -> None:
    """Refuse a generator on another device than what it draws for."""
    if generator.device.type != device.type:
        raise ValueError(
            f"{formula}: expected a generator on the {name}' device {device}; got one on {generator.device}"
        )
