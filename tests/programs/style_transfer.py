"""
Optimise an image: content of one, style of another, as a fixed network sees them.
The activations are taken by forward hooks; the network itself is never trained.
"""

from collections import OrderedDict
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1905)
device = "cuda" if torch.cuda.is_available() else "cpu"
SIZE = 24

# "pretrained": random filters, centred and scaled, which see edges and spots well enough
cnn = (
    nn.Sequential(
        OrderedDict(
            [
                ("conv1_1", nn.Conv2d(3, 8, 3, padding=1)),
                ("relu1_1", nn.ReLU(inplace=True)),
                ("conv1_2", nn.Conv2d(8, 8, 3, padding=1)),
                ("relu1_2", nn.ReLU(inplace=True)),
                ("pool1", nn.MaxPool2d(2, 2)),
                ("conv2_1", nn.Conv2d(8, 16, 3, padding=1)),
                ("relu2_1", nn.ReLU(inplace=True)),
                ("pool2", nn.AvgPool2d(2)),
                ("conv3_1", nn.Conv2d(16, 16, 3, padding=1, padding_mode="reflect")),
                ("relu3_1", nn.ReLU()),
            ]
        )
    )
    .to(device)
    .eval()
)
for name, m in cnn.named_children():
    if name.startswith("conv"):
        nn.init.orthogonal_(m.weight, gain=1.4)
cnn.requires_grad_(False)

mean = torch.tensor([0.485, 0.456, 0.406]).view(-1, 1, 1)
std = torch.tensor([0.229, 0.224, 0.225]).view(-1, 1, 1)

ramp = torch.linspace(0, 1, SIZE)
yy, xx = torch.meshgrid(ramp, ramp, indexing="ij")
content_img = torch.stack([((xx - 0.5) ** 2 + (yy - 0.5) ** 2 < 0.1).float(), xx, yy])[None]
style_img = (
    torch.stack([torch.sin(20 * xx), torch.sin(20 * (xx + yy)), torch.cos(14 * yy)])[None] * 0.5
    + 0.5
)

activations = {}


def remember(name, module, args, output):
    activations[name] = output.clone()  # the ReLU after it works in place


handles = [
    layer.register_forward_hook(partial(remember, name))
    for name, layer in cnn.named_children()
    if name.startswith("conv")
]
CONTENT, STYLE = ["conv2_1"], ["conv1_1", "conv1_2", "conv2_1", "conv3_1"]


def gram_matrix(x):
    channels = x.flatten(2)
    return channels @ channels.mT / x.numel()


def look(img):
    activations.clear()
    cnn((img - mean) / std)
    return dict(activations)


with torch.no_grad():
    content_target = {k: v for k, v in look(content_img).items() if k in CONTENT}
    style_target = {k: gram_matrix(v) for k, v in look(style_img).items() if k in STYLE}


def total_variation(img):
    return (img[..., 1:, :] - img[..., :-1, :]).abs().mean() + (
        img[..., 1:] - img[..., :-1]
    ).abs().mean()


def losses(img):
    seen = look(img)
    content = sum(F.mse_loss(seen[k], t) for k, t in content_target.items())
    style = sum(F.mse_loss(gram_matrix(seen[k]), t) for k, t in style_target.items())
    return content, 300 * style, 0.05 * total_variation(img)


input_img = (content_img + 0.1 * torch.randn_like(content_img)).requires_grad_(True)
optimizer = torch.optim.Adam([input_img], lr=0.03)
for iteration in range(1, 41):
    optimizer.zero_grad()
    parts = losses(input_img)
    sum(parts).backward()
    optimizer.step()
    with torch.no_grad():
        input_img.clamp_(0, 1)
    if iteration % 10 == 0:
        print(
            "%d: content %.5f style %.5f variation %.5f" % (iteration, *(p.item() for p in parts))
        )

with torch.no_grad():
    input_img.clamp_(0, 1)
print("image mean %.3f, std %.3f" % (input_img.mean(), input_img.std()))

# what does each filter want to see? gradient ascent, the gradient smoothed by a tensor hook
dream = torch.full((1, 3, SIZE, SIZE), 0.5, requires_grad=True)
dream.register_hook(lambda g: F.avg_pool2d(g, 3, stride=1, padding=1))
grads_seen = []
back = cnn.pool2.register_full_backward_hook(
    lambda m, gin, gout: grads_seen.append(gout[0].abs().sum().item())
)
optimizer = torch.optim.SGD([dream], lr=2.0, maximize=True)
for step in range(12):
    optimizer.zero_grad()
    score = look(dream)["conv3_1"][0, 3].mean()
    score.backward()
    optimizer.step()
    if step % 4 == 3:
        print(f"dream {step + 1}: {score.item():.4f} |grad| {dream.grad.norm().item():.4f}")
print("backward hook saw", len(grads_seen), "gradients, the last sums to %.3f" % grads_seen[-1])
for h in [*handles, back]:
    h.remove()
print(all(p.grad is None for p in cnn.parameters()), len(cnn.conv1_1._forward_hooks))
