"""What is trained and how: one entry a network, one a recipe. Everything that changes a result is in here."""
from dataclasses import asdict, dataclass, field, replace


@dataclass(frozen=True)
class Recipe:
    """Shares of the kinds of samples (they sum to 1), and the length of the run.

    The rate warms up, stays, and falls linearly to 0 over the last `decay` steps; a run without end
    (decay 0) can be taken up again at any time, and a short `--decay` run from any of its checkpoints
    makes weights to release.
    """
    shares: dict = field(default_factory=lambda: {'bicubic': 1.0})
    steps: int = 300_000
    warm_up: int = 500
    decay: int = 30_000
    rate: float = 1e-3
    batch: int = 8
    batch_bf16: int | None = None  # on a processor that multiplies bfloat16, where large batches cost less a sample
    patch: int = 64          # low-resolution pixels a side
    hard: bool = False       # of two places drawn, the one with the steeper edges instead of the one with more contrast
    clip: float = 0.5        # ceiling of the gradient's norm
    average: float = 0.999   # of the averaged weights
    gradient_term: float = 0.1
    squared_error: float = 0.0  # over this last share of the falling rate: squared error instead of Charbonnier
    chroma_term: float = 0.5  # weight of chroma, both planes together, beside luma's 1
    charbonnier: float = 2e-3
    # Weights of what is lost besides fidelity, at strength 1 (`objective`): structure (1 is a hundred points of VMAF-NEG),
    # features of a trained network, what a discriminator says (with the weight of its features' match), unsteadiness.
    structure_term: float = 0.0
    perceptual_term: float = 0.0
    adversarial_term: float = 0.0
    matching: float = 1.0
    steady_term: float = 0.0
    sharpen: float = 0.0     # unsharp mask on the truth of damaged pairs: its amount, and its width in pixels of the truth
    sharpen_sigma: float = 1.6
    taught: float = 0.0      # share of a teacher's picture in that truth, where `ground.sh teach` has made one (or --teacher)
    seed: int = 1


@dataclass(frozen=True)
class Network:
    """The shape of a network and what is written of it in the manifest."""
    name: str                # that jobs ask for; files of several scales share it
    title: str
    task: str
    scale: int
    features: int
    layers: int
    fold: int = 2            # the body works at 1 / fold of the resolution
    colour: bool = False     # restores chroma as well
    leaky: bool = False      # PReLU instead of ReLU
    license: str = 'Apache-2.0'
    recipe: str = 'mixed'
    also: tuple = ()         # other names under which the same files serve
    begins: str | None = None  # the shipped file whose weights a new run begins with
    told: float = 1.0        # what those weights are told where this network is told 1 (`network.rescaled_strength`)
    beside: str | None = None  # the shipped file whose result at strength 0 is the faithful one (`real.RealSource`)

    @property
    def layout(self):
        """As manifests call it."""
        return 'ycbcr+strength' if self.colour else 'luma+strength'

    def file(self, precision):
        return f'{self.name}-x{self.scale}{"" if precision == "fp32" else "-" + precision}.onnx'


NETWORKS = {
    # At full resolution: README.md, "Bodies compared".
    'fast': Network('fast', 'Fast ×2 for CPUs', 'super-resolution', 2, 16, 7, fold=1),
    'fast-restore': Network('fast', 'Fast restoration at the same size', 'restoration', 1, 32, 8,
                            recipe='restore', also=('quality',)),
    # At full resolution, twice as wide and deep as `fast`, and in colour. It started from the shipped `fast` (--grow).
    'quality': Network('quality', 'Quality ×2 for GPUs and patient CPUs', 'super-resolution', 2, 32, 14, fold=1, colour=True),
    # At full resolution throughout, 1.7 million weights, for GPUs. Not shipped yet: it takes a GPU to train (`plans`).
    'best': Network('best', 'Best ×2 for GPUs', 'super-resolution', 2, 96, 20, fold=1, colour=True),
    # For damaged sources, blind: the costs of `fast` and `quality`. A new run of `detail` goes on from the shipped weights.
    'detail': Network('detail', 'Detail ×2 for damaged sources', 'super-resolution', 2, 32, 8, recipe='real',
                      begins='detail-x2.onnx', beside='fast-x2.onnx'),
    # ×4, because most damaged sources are small, and one pass takes a fifth of the time of two. With means of 2 × 2 pixels in its
    # last layer (`network.halved`) the same network is ×2.
    'detail-large': Network('detail-large', 'Detail ×4 for damaged sources', 'super-resolution', 4, 32, 14, fold=1, colour=True, recipe='real',
                            begins='detail-large-x4.onnx', beside='fast-x2.onnx'),
    'detail-large-x2': Network('detail-large', 'Detail ×2 for damaged sources, larger', 'super-resolution', 2, 32, 14, fold=1, colour=True,
                               recipe='real', begins='detail-large-x2.onnx', beside='fast-x2.onnx'),
    # The body of Real-ESRGAN's compact network, for GPUs and many cores: four times the computation of `detail-large`. It began with the
    # weights of realesr-animevideov3 (--start), so its licence holds, too.
    'detail-best': Network('detail-best', 'Detail ×4 for damaged sources, best', 'super-resolution', 4, 64, 16, fold=1, colour=True, leaky=True,
                           recipe='real', begins='detail-best-x4.onnx', beside='fast-x2.onnx', license='Apache-2.0 AND BSD-3-Clause'),
    'detail-best-x2': Network('detail-best', 'Detail ×2 for damaged sources, best', 'super-resolution', 2, 64, 16, fold=1, colour=True, leaky=True,
                              recipe='real', begins='detail-best-x2.onnx', beside='fast-x2.onnx', license='Apache-2.0 AND BSD-3-Clause'),
    'detail-restore': Network('detail', 'Detail at the same size', 'restoration', 1, 32, 8, recipe='real', also=('detail-large', 'detail-best'),
                              begins='fast-x1.onnx', told=0.06),
}

RECIPES = {
    'bicubic': Recipe(shares={'bicubic': 0.92, 'drawn': 0.08}),
    'mixed': Recipe(shares={'bicubic': 0.46, 'drawn': 0.06, 'noise': 0.13, 'clips': 0.35}),
    # At scale 1 the clean pairs are pictures and themselves: at strength 0 nothing may change.
    'restore': Recipe(shares={'bicubic': 0.1, 'noise': 0.45, 'clips': 0.45}),
    # Blind restoration of real damage at strength 1, faithful at strength 0, straight between. Without end: `--finish`
    # makes weights to release.
    'real': Recipe(shares={'real': 0.74, 'real-between': 0.13, 'real-clean': 0.13}, steps=10**9, decay=0,
                   rate=5e-4, batch_bf16=32, structure_term=0.2, steady_term=1.0),
}


def recipe(name, **changes):
    """A recipe by name with some of its numbers changed (None leaves one as it is)."""
    return replace(RECIPES[name], **{k: v for k, v in changes.items() if v is not None})


def as_data(value):
    return asdict(value)
