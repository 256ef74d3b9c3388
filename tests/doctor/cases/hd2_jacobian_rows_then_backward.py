import torch
import torch.nn as nn


class Decoder(nn.Module):
    def __init__(self, latent=2, out=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(latent, 16), nn.Softplus(), nn.Linear(16, out))

    def forward(self, z):
        return self.net(z)


def jacobian_rows(y, z):
    """One row for each output; the graph stays for the caller."""
    rows = [torch.autograd.grad(y[:, k].sum(), z, retain_graph=True)[0] for k in range(y.size(1))]
    return torch.stack(rows, dim=1)


def isometry_penalty(y, z):
    one_hot = torch.eye(y.size(1))
    columns = []
    for k in range(y.size(1)):
        (g,) = torch.autograd.grad(y, z, grad_outputs=one_hot[k].expand_as(y), create_graph=True)
        columns.append(g)
    J = torch.stack(columns, dim=1)
    return ((J.transpose(1, 2) @ J - torch.eye(z.size(1))) ** 2).mean()


def main():
    torch.manual_seed(0)
    decoder = Decoder()
    opt = torch.optim.Adam(decoder.parameters(), lr=5e-3)
    codes = torch.randn(12, 2)
    target = torch.sin(codes @ torch.randn(2, 5))
    for step in range(6):
        z = codes.clone().requires_grad_(True)
        y = decoder(z)
        volume = torch.linalg.svdvals(jacobian_rows(y, z)).prod(dim=1).mean()
        loss = ((y - target) ** 2).mean() + 0.01 * isometry_penalty(y, z)
        opt.zero_grad()
        loss.backward(inputs=list(decoder.parameters()))
        opt.step()
        print(step, f"{loss.item():.4f} volume {volume.item():.4f}")


main()
