"""Which processors train in bfloat16."""
import ctypes
import platform
from dataclasses import replace
from pathlib import Path

import torch

ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA = 158, 0x1023, 18  # of x86-64: asm/unistd_64.h, asm/prctl.h, the kernel's XFEATURE


def request_tiles(call=None):
    """Asks the kernel for the tile registers, which a process gets only on request (Linux 5.16 and later). False where the
    processor has none, the kernel is older, or a filter of system calls denies the request."""
    if platform.system() != 'Linux' or platform.machine() != 'x86_64':
        return False
    call = call or ctypes.CDLL(None, use_errno=True).syscall
    return call(*(ctypes.c_long(v) for v in (ARCH_PRCTL, REQUEST_PERMISSION, TILE_DATA))) == 0


def multiplies_bfloat16(cpuinfo=Path('/proc/cpuinfo'), request=request_tiles):
    """Whether this processor is faster in bfloat16, and PyTorch uses it: AMX where the kernel grants it, or AVX-512 BF16 of AMD's
    processors. A step then takes a half to a fifth of the time (AMX), or half to two thirds (AVX-512 BF16). Intel's AVX-512 BF16
    does no more products a cycle than float32: there a convolution of 32 channels, forward and backward, takes 1.6 times as long."""
    try:
        flags = cpuinfo.read_text()
    except OSError:
        return False
    if not torch.amp.is_autocast_available('cpu'):
        return False
    if ' amx_bf16' in flags and request():
        return True
    return ' avx512_bf16' in flags and 'AuthenticAMD' in flags


def runs_in_bfloat16(device, half=None):
    """Whether the network runs in bfloat16: on GPUs, and on processors that multiply it. On any other it is slower than float32."""
    if torch.device(device).type == 'cpu':
        return multiplies_bfloat16() if half is None else half
    return True


def for_processor(recipe, device, half=None):
    """The recipe with the batch that suits a processor that multiplies bfloat16, where it names one."""
    large = recipe.batch_bf16 and torch.device(device).type == 'cpu' and runs_in_bfloat16(device, half)
    return replace(recipe, batch=recipe.batch_bf16) if large else recipe
