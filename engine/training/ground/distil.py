"""Distillation (Hinton et al. 2015) from a network of ours: what it makes of a batch is mixed into what is wanted."""
from pathlib import Path

import torch

from .export import from_fp32
from .network import frozen
from .trainer import runs_in_bfloat16


class TaughtBatches:
    """Batches for a network of `planes` inputs and `outputs`, whose wanted luma holds a `share` of what a teacher makes of the
    same input. `batches` has the planes of the teacher, which may be more: `quality` sees colour, `fast` does not.

    The teacher runs whenever a batch is made, because no square is drawn twice: a step takes longer by its forward pass.
    """

    def __init__(self, batches, file, share, planes, outputs):
        self.batches, self.share, self.planes, self.outputs = batches, share, planes, outputs
        self.teacher = frozen(from_fp32(Path(file).read_bytes())).to(memory_format=torch.channels_last)

    @torch.no_grad()
    def at(self, number):
        """As `samples.Batches.at`."""
        x, wanted = self.batches.at(number)
        with torch.autocast('cpu', torch.bfloat16, enabled=runs_in_bfloat16('cpu')):
            taught = self.teacher(x[:, :self.teacher.planes].contiguous(memory_format=torch.channels_last))
        wanted[:, :1].lerp_(taught[:, :1].float(), self.share)
        return x[:, :self.planes], wanted[:, :self.outputs]
