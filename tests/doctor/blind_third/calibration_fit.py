"""Camera calibration: recover focal length, centre and distortion."""
import torch

torch.manual_seed(29)


def project(points, focal, centre, k):
    xy = points[:, :2] / points[:, 2:]
    r2 = xy.square().sum(1, keepdim=True)
    return focal * xy * (1 + k[0] * r2 + k[1] * r2 * r2) + centre


def synthetic(n=120):
    points = torch.rand(n, 3) * 2 - 1
    points[:, 2] = points[:, 2] + 3
    pixels = project(points, torch.tensor(1.8), torch.tensor([0.4, -0.2]), torch.tensor([-0.3, 0.1]))
    return points, pixels + 0.001 * torch.randn(n, 2)


points, pixels = synthetic()
focal = torch.tensor(1.0, requires_grad=True)
centre = torch.zeros(2, requires_grad=True)
k = torch.zeros(2, requires_grad=True)

optimizer = torch.optim.LBFGS([focal, centre, k], lr=0.1, max_iter=10)


def reprojection_error():
    return (project(points, focal, centre, k) - pixels).square().sum(1).mean()


def closure():
    loss = reprojection_error()
    loss.backward()
    return loss


optimizer.zero_grad()
for outer in range(6):
    loss = optimizer.step(closure)
    print(f"outer {outer} error {loss.item():.3e}")

print(f"final error {reprojection_error().item():.3e}")
print("focal", focal.item(), "centre", centre.tolist(), "distortion", k.tolist())
