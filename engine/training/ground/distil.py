"""Distillation (Hinton et al. 2015) from a network of ours, or a compact one: what it makes of a batch is mixed into what is wanted."""
from pathlib import Path

import torch

from .compact import from_compact, is_compact
from .export import from_fp32
from .network import frozen
from .trainer import runs_in_bfloat16


class TaughtBatches:
    """Batches for a network of `planes` inputs and `outputs`, whose wanted luma holds a `share` of what a teacher makes of the
    same input. `batches` has the planes of the teacher, which may be more: `quality` sees colour, `fast` does not. `blind`: of a
    recipe whose strength says how much restoration is wanted; the share is then multiplied by it, and chroma is taught, too.
    `device`: of the batches.

    The teacher runs whenever a batch is made, because no square is drawn twice: a step takes longer by its forward pass.
    """

    def __init__(self, batches, file, share, planes, outputs, blind=False, device='cpu'):
        self.batches, self.share, self.planes, self.outputs, self.blind = batches, share, planes, outputs, blind
        data = Path(file).read_bytes()
        teacher = from_compact(data) if is_compact(data) else from_fp32(data)
        self.teacher = frozen(teacher.to(device, memory_format=torch.channels_last))

    @torch.no_grad()
    def at(self, number):
        """As `samples.Batches.at`."""
        x, wanted, *shifts = self.batches.at(number)
        with torch.autocast(x.device.type, torch.bfloat16, enabled=runs_in_bfloat16(x.device)):
            taught = self.teacher(x[:, :self.teacher.planes].contiguous(memory_format=torch.channels_last))
        share = self.share * x[:, 1:2, :1, :1] if self.blind else torch.tensor(self.share)
        planes = self.outputs if self.blind else 1
        wanted[:, :planes] += share * (taught[:, :planes].float() - wanted[:, :planes])
        return x[:, :self.planes], wanted[:, :self.outputs], *shifts
