import torch
import torch.nn as nn

torch.manual_seed(19)
torch.set_num_threads(1)


class BlurModel(nn.Module):
    """Fixed forward operator of a deconvolution problem."""

    def __init__(self, width=9):
        super().__init__()
        k = torch.hann_window(width, periodic=False)
        self.register_buffer("kernel", (k / k.sum()).view(1, 1, -1))

    def forward(self, x):
        return nn.functional.conv1d(x[None, None], self.kernel, padding="same")[0, 0]


def total_variation(x):
    return (x[1:] - x[:-1]).abs().mean()


truth = torch.zeros(80)
truth[20:35], truth[50:60] = 1.0, -0.5
operator = BlurModel()
observed = operator(truth) + 0.01 * torch.randn(80)

estimate = observed.detach().clone().requires_grad_(True)
optimizer = torch.optim.LBFGS([estimate], lr=0.5, max_iter=10, history_size=8)
log = []


def closure():
    optimizer.zero_grad()
    misfit = ((operator(estimate) - observed) ** 2).mean()
    loss = misfit + 2e-3 * total_variation(estimate)
    loss.backward()
    log.append(loss.item())
    return loss


for outer in range(10):
    optimizer.step(closure)
    with torch.no_grad():
        estimate.clamp_(-1.5, 1.5)
        err = (estimate - truth).pow(2).mean().sqrt().item()
    if outer % 3 == 0:
        print(f"outer {outer} loss {log[-1]:.6f} rmse {err:.4f} evaluations {len(log)}")
