import torch
import torch.nn as nn
import torch.nn.functional as F


class StationEncoder(nn.Module):
    def __init__(self, d=9, width=24):
        super().__init__()
        self.gru = nn.GRU(d, width, batch_first=True)

    def forward(self, x):
        return self.gru(x)[1].squeeze(0)


class Weather(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = StationEncoder()
        self.temperature = nn.Linear(24, 1)
        self.rain = nn.Linear(24, 1)

    def forward(self, x):
        z = self.encoder(x)
        return self.temperature(z).squeeze(-1), self.rain(z).squeeze(-1)


def season(n, length=8):
    x = torch.randn(n, length, 9)
    temp = x[:, :, 0].mean(1) * 2
    rain = (x[:, -3:, 1].sum(1) > 0).float()
    return x, temp, rain


def step(model, opt, batch, probes):
    x, temp, rain = batch
    t_hat, r_hat = model(x)
    t_loss = F.mse_loss(t_hat, temp)
    r_loss = F.binary_cross_entropy_with_logits(r_hat, rain)
    opt.zero_grad()
    t_loss.backward(retain_graph=True)
    probes["temperature"].append(model.encoder.gru.weight_hh_l0.grad.norm().item())
    total = t_loss + 0.5 * r_loss
    total.backward()
    opt.step()
    return t_loss.item(), r_loss.item()


def main():
    torch.manual_seed(53)
    model = Weather()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    probes = {"temperature": []}
    for it in range(60):
        t, r = step(model, opt, season(48), probes)
    print(f"temperature {t:.3f} rain {r:.3f} encoder gradient {probes['temperature'][-1]:.4f}")


main()
