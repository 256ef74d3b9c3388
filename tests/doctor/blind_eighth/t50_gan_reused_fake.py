"""GAN where the same fake batch serves both players; generator passes first."""
import torch
import torch.nn as nn

torch.manual_seed(49)

gen = nn.Sequential(nn.Linear(5, 32), nn.ReLU(inplace=True), nn.Linear(32, 2))
dis = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2, inplace=True), nn.Linear(32, 1))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(dis.parameters(), lr=1e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()


def toggle(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def real_data(n):
    return torch.randn(n, 2) @ torch.tensor([[0.4, 0.2], [0.0, 0.3]]) + torch.tensor([1.0, -1.0])


history = {"g": [], "d": []}
for step in range(120):
    fake = gen(torch.randn(64, 5))

    toggle(dis, False)
    loss_g = bce(dis(fake), torch.ones(64, 1))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    toggle(dis, True)

    logits = dis(torch.cat([real_data(64), fake.detach()]))
    labels = torch.cat([torch.full((64, 1), 0.9), torch.zeros(64, 1)])
    loss_d = bce(logits, labels)
    opt_d.zero_grad()
    loss_d.backward()
    opt_d.step()

    history["g"].append(loss_g.item())
    history["d"].append(loss_d.detach())
    if step % 40 == 39:
        d_avg = torch.stack(history["d"][-40:]).mean().item()
        print(f"step {step + 1} g {loss_g.item():.3f} d {d_avg:.3f} mean {fake.mean(0).tolist()}")
