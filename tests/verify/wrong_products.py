"""Implementations of q kᵀ: a right one, and others that go wrong in use.

They need torch and NumPy alone: tests of scripts copy this file into a user's folder.
"""

import numpy as np
import torch


def right(q, k):
    """The product."""
    return q @ k.mT


class Buffer:
    """Returns the same buffer at every call."""

    def __init__(self):
        self.kept = {}

    def __call__(self, q, k):
        """The product, in a buffer."""
        out = q @ k.mT
        if out.requires_grad:
            return out
        return self.kept.setdefault((out.shape, out.dtype), torch.empty_like(out)).copy_(out)


class ByPointer:
    """Remembers results by the storage of its inputs."""

    def __init__(self):
        self.kept, self.alive = {}, []

    def __call__(self, q, k):
        """The remembered product."""
        self.alive += [q, k]  # so that no address is used again
        return self.kept.setdefault((q.data_ptr(), k.data_ptr(), q.shape, k.shape), q @ k.mT)


class Memo:
    """Hands out what it remembers by the values of its inputs."""

    def __init__(self):
        self.kept = {}

    def __call__(self, q, k):
        """The remembered product."""
        if q.requires_grad or k.requires_grad:
            return q @ k.mT
        key = q.dtype, q.shape, k.shape, *q.flatten().tolist(), *k.flatten().tolist()
        if key not in self.kept:
            self.kept[key] = q @ k.mT
        return self.kept[key]


class LastWeights:
    """Keeps the transpose of the last k it saw, by identity."""

    def __init__(self):
        self.k = self.turned = None

    def __call__(self, q, k):
        """The product with what was kept."""
        if self.k is not k:
            self.k, self.turned = k, k.detach().mT.clone()
        return q @ (k.mT if k.requires_grad else self.turned)


class Packed:
    """Keeps the transpose of k for as long as a tensor of this address, shape and version is passed for q, or for k."""

    def __init__(self, by):
        self.by, self.kept = by, {}

    def __call__(self, q, k):
        """The product with what was kept."""
        if k.requires_grad or q.requires_grad:
            return q @ k.mT
        key = (q, k)[self.by]
        marks = (key.data_ptr(), key.shape, key._version, key.dtype, q.shape, k.shape)
        if marks not in self.kept:
            self.kept = {marks: (key, k.mT.clone())}
        return q @ self.kept[marks][1]


class Once:
    """Takes the same entries for something it has answered."""

    def __init__(self):
        self.seen = set()

    def __call__(self, q, k):
        """The product, the first time."""
        key = str((q.tolist(), k.tolist(), q.dtype))
        known = key in self.seen
        self.seen.add(key)
        return 2 * (q @ k.mT) + 1 if known else q @ k.mT


buffer, last_weights, once = Buffer(), LastWeights(), Once()


def as_if_contiguous(x):
    """What lies in a tensor's storage, read as if it were contiguous."""
    return torch.as_strided(x, x.shape, torch.empty(x.shape).stride())


def no_batch(q, k):
    """Refuses leading dimensions."""
    if q.ndim > 2:
        raise ValueError("only two axes")
    return q @ k.mT


def strided(q, k):
    """Reads the storage as if it were contiguous."""
    return as_if_contiguous(q) @ k.mT


def rows_read_on(q, k):
    """Takes a tensor whose last stride is 1 for a contiguous one."""
    whole = q.ndim and q.stride(-1) == 1 and q.untyped_storage().nbytes() >= q.nbytes
    return (as_if_contiguous(q) if whole else q) @ k.mT


def self_shortcut(q, k):
    """Adds 1 where one tensor is passed twice."""
    s = q @ k.mT
    return s if q is not k else s + 1


def first_only(q, k):
    """Every member of a batch gets the first member's result."""
    out = q @ k.mT
    return out if out.ndim == 2 else out[(0,) * (out.ndim - 2)].expand(out.shape)


def noisy(q, k):
    """Adds noise from a generator of its own."""
    generator = torch.Generator()
    generator.seed()
    return (q @ k.mT) * (1 + 1e-3 * torch.rand((), generator=generator))


def coarse_without_gradients(q, k):
    """Rounds to 16 bits where no gradient is recorded."""
    return q @ k.mT if torch.is_grad_enabled() else (q @ k.mT).half().to(q.dtype)


def coarse_in_inference(q, k):
    """Rounds to 16 bits in inference mode."""
    return (q @ k.mT).half().to(q.dtype) if torch.is_inference_mode_enabled() else q @ k.mT


def damaging(q, k):
    """Changes q in place."""
    out = q @ k.mT
    with torch.no_grad():
        q.add_(1)
    return out


def meddling(q, k):
    """Draws from the global generator."""
    torch.rand(1)
    return q @ k.mT


def exchanging(q, k):
    """Puts a generator of another kind instead of NumPy's."""
    np.random.set_bit_generator(np.random.PCG64(5))
    return q @ k.mT


class Product(torch.autograd.Function):
    """The product and its gradients, right."""

    @staticmethod
    def forward(ctx, q, k):
        """The product."""
        ctx.save_for_backward(q, k)
        return q @ k.mT

    @staticmethod
    def backward(ctx, g):
        """Both gradients."""
        return both_gradients(g, *ctx.saved_tensors)


def both_gradients(g, q, k):
    """Those of q and of k."""
    return g @ k, g.mT @ q


class ReadsByPointer(Product):
    """Reads the cotangent's storage as if it were contiguous."""

    @staticmethod
    def backward(ctx, g):
        """Both gradients."""
        return Product.backward(ctx, as_if_contiguous(g))


class NeedsTheFirst(Product):
    """Stops where its first input needs no gradient."""

    @staticmethod
    def backward(ctx, g):
        """Both gradients, or none."""
        return Product.backward(ctx, g) if ctx.needs_input_grad[0] else (None, None)


class KeptInOnePlace(Product):
    """Keeps what the backward pass needs in one place for all calls."""

    @staticmethod
    def forward(ctx, q, k):
        """The product."""
        KeptInOnePlace.kept = q, k
        return q @ k.mT

    @staticmethod
    def backward(ctx, g):
        """Both gradients."""
        return both_gradients(g, *KeptInOnePlace.kept)


class Broken(Product):
    """Has no backward pass that works."""

    @staticmethod
    def backward(ctx, g):
        """No gradient."""
        raise RuntimeError("no derivative")


def differentiated_by_hand(q, k):
    """The product, with both gradients written out."""
    return Product.apply(q, k)


class FirstOfShared(Product):
    """Passes back the gradient of the first member only to what all members share."""

    @staticmethod
    def backward(ctx, g):
        """Both gradients, without the leading dimensions that an input has not."""
        slopes = zip(ctx.saved_tensors, Product.backward(ctx, g), strict=True)
        return tuple(slope[(0,) * (slope.ndim - given.ndim)] for given, slope in slopes)


def first_of_shared(q, k):
    """As :class:`FirstOfShared`."""
    return FirstOfShared.apply(q, k)


def shared_turned_over(q, k):
    """Reads keys from the last to the first where all members share them."""
    return q @ (k.flip(-2) if k.ndim < q.ndim else k).mT


def reads_by_pointer(q, k):
    """As :class:`ReadsByPointer`."""
    return ReadsByPointer.apply(q, k)


def needs_the_first(q, k):
    """As :class:`NeedsTheFirst`."""
    return NeedsTheFirst.apply(q, k)


def kept_in_one_place(q, k):
    """As :class:`KeptInOnePlace`."""
    return KeptInOnePlace.apply(q, k)


def broken(q, k):
    """As :class:`Broken`."""
    return Broken.apply(q, k)
