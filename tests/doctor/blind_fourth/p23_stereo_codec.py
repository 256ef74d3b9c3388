import torch
import torch.nn as nn

torch.manual_seed(16)
torch.set_num_threads(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 24), nn.ELU(), nn.Linear(24, 6))

    def forward(self, x):
        return self.net(x)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 24), nn.ELU(), nn.Linear(24, 32))

    def forward(self, z):
        return self.net(z)


def frames(n):
    t = torch.linspace(0, 6.28, 16)
    phase, amp = torch.rand(n, 1) * 6.28, 0.5 + torch.rand(n, 1)
    left = amp * torch.sin(t + phase)
    right = amp * torch.sin(t + phase + 0.4)
    return torch.cat([left, right], dim=1)


encoder, decoder = Encoder(), Decoder()
opt_enc = torch.optim.SGD(encoder.parameters(), lr=0.05)
opt_dec = torch.optim.SGD(decoder.parameters(), lr=0.05)
criterion = nn.MSELoss()

for it in range(300):
    batch = frames(64)
    recon = decoder(encoder(batch))
    loss = criterion(recon, batch)

    opt_enc.zero_grad()
    opt_enc.zero_grad()
    loss.backward()
    opt_enc.step()
    opt_dec.step()
    if it % 50 == 0:
        print(f"{it:4d} {loss.item():.4f}")

with torch.no_grad():
    check = frames(256)
    print("final", criterion(decoder(encoder(check)), check).item())
