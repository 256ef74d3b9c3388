"""kornia: filters, augmentation, warps and losses, and a rotation found by gradients."""

import kornia
import kornia.augmentation as K
import torch

torch.manual_seed(0)
images = torch.rand(2, 3, 24, 24, requires_grad=True)
blurred = kornia.filters.gaussian_blur2d(images, (5, 5), (1.5, 1.5))
edges = kornia.filters.sobel(blurred)
laplacian = kornia.filters.laplacian(images, 3)
loss = edges.mean() + laplacian.abs().mean()
loss = (
    loss
    + kornia.losses.ssim_loss(images, blurred, 5)
    + kornia.losses.total_variation(images).mean()
)
loss.backward()
print("filters", f"{loss.item():.6f} {images.grad.norm().item():.6f}")

for change in (
    K.RandomHorizontalFlip(p=0.5),
    K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    K.RandomAffine(degrees=20.0, p=1.0),
    K.RandomGaussianNoise(p=1.0),
):
    print(type(change).__name__, f"{change(images.detach()).mean().item():.6f}")

print("lab", f"{kornia.color.rgb_to_lab(images.detach()).mean().item():.5f}")
print("hsv", f"{kornia.color.rgb_to_hsv(images.detach()).mean().item():.5f}")

angle = torch.zeros(1, requires_grad=True)
picture = kornia.filters.gaussian_blur2d(torch.rand(1, 1, 24, 24), (7, 7), (2.0, 2.0))
wanted = kornia.geometry.rotate(picture, torch.tensor([12.0]))
optimizer = torch.optim.Adam([angle], lr=2.0)
for step in range(6):
    loss = (kornia.geometry.rotate(picture, angle) - wanted).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("rotation", step, f"{loss.item():.6f} {angle.item():.4f}")
