"""The device that work runs on, and the precision that is fastest there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def compute_device(name: str = "auto") -> torch.device:
    """Return the device `name`; `auto` is the GPU if there is one, else the CPU."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def is_bfloat16_faster(device: torch.device) -> bool:
    """Return whether `device` multiplies bfloat16 matrices faster than float32.

    These are recent GPUs, and CPUs with AVX512-BF16 or AMX.
    """
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def bfloat16_if_faster(device: torch.device) -> torch.autocast:
    """Return a context that multiplies matrices in bfloat16 on devices where `is_bfloat16_faster`."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=is_bfloat16_faster(device))


def row_multiple(device: torch.device) -> int:
    """Return the number whose multiples the rows of a small matrix product should be on `device`.

    A CPU compiles its bfloat16 products for every new shape, which takes longer than a small product. Multiples keep
    the number of shapes small.
    """
    return 16 if device.type == "cpu" and is_bfloat16_faster(device) else 1


def float16_packs(device: torch.device) -> bool:
    """Return whether torch on `device` has matrix products with weights packed in float16: x86 CPUs with AVX2."""
    import torch

    return device.type == "cpu" and "fbgemm" in torch.backends.quantized.supported_engines
