import torch
import torch.nn.functional as F


class AugmentedBatches:
    """Iterates over random crops and flips; augmentation needs no gradients."""

    def __init__(self, x, y, batch_size, pad=1):
        self.x, self.y = x, y
        self.batch_size, self.pad = batch_size, pad

    def crop(self, x):
        size = x.size(-1)
        x = F.pad(x, [self.pad] * 4, mode="replicate")
        top, left = torch.randint(0, 2 * self.pad + 1, (2,)).tolist()
        return x[..., top:top + size, left:left + size]

    def __iter__(self):
        order = torch.randperm(len(self.x))
        for idx in order.split(self.batch_size):
            with torch.no_grad():
                x = self.crop(self.x[idx])
                if torch.rand(()) < 0.5:
                    x = x.flip(-1)
            yield x, self.y[idx]
