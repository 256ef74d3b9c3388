#!/usr/bin/env python3
# torchvision-like: a ResNet with options, registry of builders, augmentation by hand, EMA + SWA evaluation,
# top-k accuracy meters, freeze/unfreeze, transfer to new classes from a saved state dict
import argparse
import io
import math
import os
import time
from functools import partial
from typing import Any, Callable, List, Optional, Type

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.backends.cudnn as cudnn
import torch.utils.data
import torch.utils.data.distributed
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset, WeightedRandomSampler

MODELS: dict = {}


def register_model(fn: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    MODELS[fn.__name__] = fn
    return fn


def conv3x3(i: int, o: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    return nn.Conv2d(
        i, o, 3, stride, padding=dilation, groups=groups, dilation=dilation, bias=False
    )


class SqueezeExcite(nn.Module):
    def __init__(self, c: int, r: int = 4) -> None:
        super().__init__()
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(c, c // r, 1),
            nn.Hardswish(),
            nn.Conv2d(c // r, c, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, x):
        return x * self.gate(x)


class BasicBlock(nn.Module):
    def __init__(
        self,
        i: int,
        o: int,
        stride: int,
        norm: Callable[..., nn.Module],
        se: bool,
        drop_path: float,
    ) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(i, o, stride), norm(o)
        self.conv2, self.bn2 = conv3x3(o, o, groups=2, dilation=2), norm(o)
        self.relu = nn.ReLU(inplace=True)
        self.se = SqueezeExcite(o) if se else nn.Identity()
        self.downsample = None
        if stride != 1 or i != o:
            self.downsample = nn.Sequential(nn.Conv2d(i, o, 1, stride, bias=False), norm(o))
        self.drop_path = drop_path

    def forward(self, x):
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.se(self.bn2(self.conv2(out)))
        if self.downsample is not None:
            identity = self.downsample(x)
        if self.drop_path and self.training:
            keep = torch.empty(x.shape[0], 1, 1, 1, device=x.device).bernoulli_(1 - self.drop_path)
            out = out * keep.div_(1 - self.drop_path)
        out += identity
        return self.relu(out)


class ResNet(nn.Module):
    def __init__(
        self,
        layers: List[int],
        widths: List[int],
        num_classes: int = 4,
        zero_init_residual: bool = True,
        norm_layer: Optional[Callable[..., nn.Module]] = None,
        se: bool = False,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        self.inplanes = widths[0]
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=3, padding="same", bias=False)
        self.bn1 = norm(self.inplanes)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for n, (depth, width) in enumerate(zip(layers, widths), 1):
            blocks = []
            for k in range(depth):
                blocks.append(
                    BasicBlock(
                        self.inplanes, width, 2 if n > 1 and k == 0 else 1, norm, se, 0.1 * (n - 1)
                    )
                )
                self.inplanes = width
            setattr(self, f"layer{n}", nn.Sequential(*blocks))
        self.stages = len(layers)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(self.inplanes, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            if zero_init_residual and isinstance(m, BasicBlock):
                nn.init.constant_(m.bn2.weight, 0.2)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        for n in range(self.stages):
            x = getattr(self, f"layer{n + 1}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


@register_model
def resnet6(**kwargs: Any) -> ResNet:
    return ResNet([1, 1], [8, 16], **kwargs)


@register_model
def se_gn_resnet6(**kwargs: Any) -> ResNet:
    return ResNet([1, 1], [8, 16], norm_layer=partial(nn.GroupNorm, 4), se=True, **kwargs)


class AverageMeter:
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.sum = self.count = 0

    def update(self, val, n=1):
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(1, self.count)

    def __str__(self):
        return ("{name} {avg" + self.fmt + "}").format(name=self.name, avg=self.avg)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        hits = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [
            hits[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0))
            for k in topk
        ]


def textures(n, classes, generator):
    """Stripes of a class's own direction and colour, in noise."""
    label = torch.randint(classes, (n,), generator=generator)
    angle = label * math.pi / classes
    grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="xy"))
    wave = torch.sin(
        (grid[0] * angle.cos()[:, None, None] + grid[1] * angle.sin()[:, None, None]) * 1.2
    )
    colour = F.one_hot(label % 3, 3).float()[:, :, None, None] * 0.5 + 0.5
    return TensorDataset(
        wave[:, None] * colour + 0.5 * torch.randn(n, 3, 16, 16, generator=generator), label
    )


def augment(x):
    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.3, x.roll((1, -1), dims=(2, 3)), x)
    theta = torch.eye(2, 3).repeat(len(x), 1, 1)
    theta[:, :, 2] = 0.1 * torch.randn(len(x), 2)
    x = F.grid_sample(
        x,
        F.affine_grid(theta, list(x.shape), align_corners=False),
        padding_mode="reflection",
        align_corners=False,
    )
    return F.interpolate(x, scale_factor=0.75, mode="bicubic", antialias=True, align_corners=False)


def mixup(x, y, classes, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample()
    soft = F.one_hot(y, classes).float()
    return torch.lerp(x, x.flip(0), 1 - lam), torch.lerp(soft, soft.flip(0), 1 - lam)


def train(loader, model, criterion, optimizer, epoch, args):
    losses, top1 = AverageMeter("Loss", ":.4f"), AverageMeter("Acc@1", ":.2f")
    model.train()
    for images, target in loader:
        inputs, soft = mixup(augment(images), target, args.classes)
        output = model(inputs)
        loss = criterion(output, soft)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.update(loss.item(), images.size(0))
        top1.update(accuracy(output, target)[0][0], images.size(0))
    print(f"Epoch: [{epoch}] {losses} {top1} lr {optimizer.param_groups[0]['lr']:.5f}")


def validate(loader, model, criterion, tag):
    losses, top1, top2 = (
        AverageMeter("Loss", ":.4f"),
        AverageMeter("Acc@1", ":.2f"),
        AverageMeter("Acc@2", ":.2f"),
    )
    model.eval()
    confusion = torch.zeros(4, 4, dtype=torch.long)
    with torch.no_grad():
        for images, target in loader:
            output = model(images)
            losses.update(criterion(output, target).item(), images.size(0))
            for meter, value in zip((top1, top2), accuracy(output, target, topk=(1, 2))):
                meter.update(value.item(), images.size(0))
            confusion.index_put_(
                (target, output.argmax(1)), torch.ones_like(target), accumulate=True
            )
    print(f" * {tag}: {losses} {top1} {top2}")
    return confusion


def main():
    parser = argparse.ArgumentParser(description="tiny image training")
    parser.add_argument("-a", "--arch", default="all", choices=sorted(MODELS) + ["all"])
    parser.add_argument("-j", "--workers", default=0, type=int)
    parser.add_argument("--epochs", default=3, type=int)
    parser.add_argument("--classes", default=4, type=int)
    parser.add_argument("--seed", default=5, type=int)
    args = parser.parse_args()
    cudnn.deterministic = True
    cudnn.benchmark = False
    generator = torch.Generator().manual_seed(args.seed)
    full = ConcatDataset([textures(96, 4, generator), textures(64, 4, generator)])
    held_out = textures(64, 4, generator)
    labels = torch.stack([y for _, y in full])
    weights = 1.0 / torch.bincount(labels, minlength=4)[labels].float()
    for arch in sorted(MODELS) if args.arch == "all" else [args.arch]:
        torch.manual_seed(args.seed)
        print(f"=> creating model '{arch}'")
        model = MODELS[arch](num_classes=args.classes)
        criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
        scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [2], gamma=0.3)
        sampler = WeightedRandomSampler(weights, 128)
        loader = DataLoader(
            full, batch_size=32, sampler=sampler, num_workers=args.workers, pin_memory=False
        )
        val_loader = DataLoader(held_out, batch_size=32)
        swa, swa_scheduler = AveragedModel(model), SWALR(optimizer, anneal_epochs=1, swa_lr=0.02)
        for epoch in range(args.epochs):
            train(loader, model, criterion, optimizer, epoch, args)
            if epoch >= 1:
                swa.update_parameters(model)
                swa_scheduler.step()
            else:
                scheduler.step()
        validate(val_loader, model, nn.CrossEntropyLoss(), "model")
        update_bn(loader, swa)
        print(validate(val_loader, swa, nn.CrossEntropyLoss(), "averaged"))

        buffer = io.BytesIO()
        torch.save({"arch": arch, "state_dict": swa.module.state_dict()}, buffer)
        buffer.seek(0)
        state = torch.load(buffer)["state_dict"]
        student = MODELS[arch](num_classes=2)
        for key in ("fc.weight", "fc.bias"):
            del state[key]
        print(student.load_state_dict(state, strict=False))
        for name, p in student.named_parameters():
            p.requires_grad_(name.startswith("fc"))
        optimizer = torch.optim.Rprop([p for p in student.parameters() if p.requires_grad], lr=0.01)
        student.eval()
        x, y = default_batch(full, 64)
        for _ in range(8):
            loss = F.multi_margin_loss(student(x), y % 2)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"transfer loss {loss.item():.4f}")


def default_batch(dataset, n):
    return next(iter(DataLoader(Subset(dataset, range(n)), batch_size=n)))


if __name__ == "__main__":
    main()
