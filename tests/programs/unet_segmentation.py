"""U-Net: find the discs in noisy pictures. A custom dataset, augmented in worker processes."""

import random
from pathlib import Path
from typing import Sequence

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset, get_worker_info


class DiscDataset(Dataset):
    """Images lie in .npy files; a sample is read and augmented when it is asked for."""

    def __init__(self, folder: Path, count: int, size: int = 32):
        self.files = [folder / f"image_{i:03d}.npy" for i in range(count)]
        rng = np.random.RandomState(5)
        yy, xx = np.mgrid[:size, :size]
        for file in self.files:
            mask = np.zeros((size, size), dtype=bool)
            for _ in range(rng.randint(1, 4)):
                cx, cy, r = rng.uniform(6, size - 6), rng.uniform(6, size - 6), rng.uniform(3, 7)
                mask |= (xx - cx) ** 2 + (yy - cy) ** 2 < r**2
            image = mask * rng.uniform(0.5, 1.0) + rng.normal(0, 0.3, mask.shape)
            np.save(file, np.stack([image, mask]).astype(np.float32))

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        image, mask = torch.from_numpy(np.load(self.files[index])).unbind(0)
        if torch.rand(()) < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        quarter_turns = random.randrange(4)
        image, mask = (torch.rot90(t, quarter_turns, [0, 1]) for t in (image, mask))
        image = image + float(np.random.normal(0, 0.05))
        info = get_worker_info()
        return {"image": image[None], "mask": mask[None], "worker": -1 if info is None else info.id}


def worker_init_fn(worker_id):
    seed = torch.initial_seed() % 2**32
    random.seed(seed)
    np.random.seed(seed)


class DoubleConv(nn.Sequential):
    def __init__(self, in_channels, out_channels):
        super().__init__(
            nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False),
            nn.BatchNorm2d(out_channels),
            nn.ReLU(inplace=True),
            nn.Conv2d(out_channels, out_channels, 3, padding=1, bias=False),
            nn.GroupNorm(2, out_channels),
            nn.ReLU(inplace=True),
        )


class Up(nn.Module):
    def __init__(self, in_channels, out_channels, bilinear):
        super().__init__()
        if bilinear:
            self.up = nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(in_channels, in_channels // 2, 1),
            )
        else:
            self.up = nn.ConvTranspose2d(in_channels, in_channels // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(in_channels, out_channels)

    def forward(self, x, skip):
        x = self.up(x)
        dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
        x = F.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
        return self.conv(torch.cat([skip, x], dim=1))


class UNet(nn.Module):
    def __init__(self, channels: Sequence[int] = (4, 8, 16)):
        super().__init__()
        self.inc = DoubleConv(1, channels[0])
        self.downs = nn.ModuleList(
            nn.Sequential(nn.MaxPool2d(2), DoubleConv(a, b)) for a, b in zip(channels, channels[1:])
        )
        self.ups = nn.ModuleList(
            Up(b, a, bilinear=i == 0)
            for i, (a, b) in enumerate(reversed(list(zip(channels, channels[1:]))))
        )
        self.outc = nn.Conv2d(channels[0], 1, 1)
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def forward(self, x):
        skips = [self.inc(x)]
        for down in self.downs:
            skips.append(down(skips[-1]))
        x = skips.pop()
        for up in self.ups:
            x = up(x, skips.pop())
        return self.outc(x)


def dice_loss(logits, target, eps=1.0):
    p = logits.sigmoid().flatten(1)
    t = target.flatten(1)
    return (1 - (2 * (p * t).sum(1) + eps) / (p.sum(1) + t.sum(1) + eps)).mean()


@torch.no_grad()
def iou(logits, target):
    hit = (logits > 0) & (target > 0.5)
    either = (logits > 0) | (target > 0.5)
    return (hit.sum((1, 2, 3)) / either.sum((1, 2, 3)).clamp_min(1)).mean().item()


def main():
    torch.manual_seed(3)
    folder = Path("discs")
    folder.mkdir(exist_ok=True)
    loader = DataLoader(
        DiscDataset(folder, 48),
        batch_size=8,
        shuffle=True,
        num_workers=2,
        worker_init_fn=worker_init_fn,
        persistent_workers=True,
        drop_last=True,
    )
    model = UNet().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=5 * len(loader))
    pos_weight = torch.tensor([2.0])
    for epoch in range(5):
        losses, overlaps, workers = [], [], set()
        for batch in loader:
            image = batch["image"].to(memory_format=torch.channels_last)
            logits = model(image)
            loss = F.binary_cross_entropy_with_logits(logits, batch["mask"], pos_weight=pos_weight)
            loss = loss + dice_loss(logits, batch["mask"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            overlaps.append(iou(logits, batch["mask"]))
            workers.update(batch["worker"].tolist())
        print(
            f"epoch {epoch + 1}/5  loss {np.mean(losses):.4f}  IoU {np.mean(overlaps):.3f}  "
            f"lr {scheduler.get_last_lr()[0]:.5f}  workers {sorted(workers)}"
        )
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters")


if __name__ == "__main__":
    main()
