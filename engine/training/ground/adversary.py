"""A discriminator that is trained beside the network: a small U-Net with spectral normalisation (as Real-ESRGAN's, Wang et
al. 2021), which scores every block of pixels; hinge losses; feature matching (Wang et al. 2018).
"""
import threading

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm


class UNet(nn.Module):
    """Luma [n, 1, h, w] (sides of whole eights) → (score of every block of 2×2 pixels [n, 1, h/2, w/2]: above 0 real, [features])."""

    def __init__(self, width=24):
        super().__init__()
        conv = lambda inputs, outputs, side, stride: spectral_norm(
            nn.Conv2d(inputs, outputs, side, stride, (side - 1) // 2, bias=False))
        # On blocks of 2×2 pixels: few wide channels take a processor several times as long as many small ones.
        self.first = nn.Conv2d(4, width, 3, 1, 1)
        self.down = nn.ModuleList([conv(width, 2 * width, 4, 2), conv(2 * width, 4 * width, 4, 2)])
        self.up = nn.ModuleList([conv(4 * width, 2 * width, 3, 1), conv(2 * width, width, 3, 1)])
        self.last = nn.Conv2d(width, 1, 3, 1, 1)

    def forward(self, luma):
        blocks = F.pixel_unshuffle(2 * luma - 1, 2).contiguous(memory_format=torch.channels_last)
        levels = [F.leaky_relu(self.first(blocks), 0.2)]
        for down in self.down:
            levels.append(F.leaky_relu(down(levels[-1]), 0.2))
        x, features = levels[-1], levels[1:]
        for up, beside in zip(self.up, levels[-2::-1]):
            x = F.interpolate(x, scale_factor=2, mode='bilinear', align_corners=False)
            x = F.leaky_relu(up(x), 0.2) + beside
            features.append(x)
        return self.last(x), features


class Adversary:
    """The discriminator, its optimiser, and what it has seen since it last learned."""

    def __init__(self, rate=2e-4, device='cpu', seed=1, half=False):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.net = UNet().to(device, memory_format=torch.channels_last)
        self.device, self.half = torch.device(device), half
        self.optimiser = torch.optim.Adam(self.net.parameters(), rate, betas=(0.9, 0.99))
        self.seen, self.lock = [], threading.Lock()

    def loss(self, made, truth, matching):
        """What the network pays for being told apart, and `matching` times how far the features lie apart."""
        score, features = self._scored(made)
        with torch.no_grad():
            _, wanted = self._scored(truth)
        with self.lock:
            self.seen.append((made.detach(), truth))
        apart = sum(F.l1_loss(a.float(), b.float()) for a, b in zip(features, wanted)) / len(features)
        return matching * apart - score.float().mean()

    def _scored(self, luma):
        """In bfloat16 where the network itself is."""
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            return self.net(luma)

    def learn(self):
        """One step of the discriminator on what it saw; → its loss, or None where it saw nothing."""
        with self.lock:
            seen, self.seen = self.seen, []
        if not seen:
            return None
        made, truth = (torch.cat(parts) for parts in zip(*seen))
        loss = F.relu(1 - self._scored(truth)[0].float()).mean() + F.relu(1 + self._scored(made)[0].float()).mean()
        self.optimiser.zero_grad()
        loss.backward()
        self.optimiser.step()
        return loss.item()

    def state(self):
        return {'net': self.net.state_dict(), 'optimiser': self.optimiser.state_dict()}

    def restore(self, state):
        self.net.load_state_dict(state['net'])
        self.optimiser.load_state_dict(state['optimiser'])
