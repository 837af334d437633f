"""Which device work runs on, and which precision pays there."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def compute_device(name: str = "auto") -> torch.device:
    """The device `name`; `auto` is the GPU where there is one, else the CPU."""
    import torch

    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)


def bfloat16_pays(device: torch.device) -> bool:
    """Whether `device` multiplies bfloat16 matrices faster than float32: recent GPUs, CPUs with AVX512-BF16 or AMX."""
    import torch

    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return device.type == "cpu" and bool(torch.cpu._is_avx512_bf16_supported())


def bfloat16_where_it_pays(device: torch.device) -> torch.autocast:
    """A context in which `device` multiplies matrices in bfloat16 where `bfloat16_pays`, and as ever elsewhere."""
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=bfloat16_pays(device))


def rows_at_once(device: torch.device) -> int:
    """What the number of rows of a small product should be a multiple of on `device`, so that there are few shapes.

    A CPU compiles its products of bfloat16 for every shape that it meets, which takes longer than a small product.
    """
    return 16 if device.type == "cpu" and bfloat16_pays(device) else 1


def float16_packs(device: torch.device) -> bool:
    """Whether torch has products with weights packed in float16 on `device`: x86 CPUs with AVX2."""
    import torch

    return device.type == "cpu" and "fbgemm" in torch.backends.quantized.supported_engines
