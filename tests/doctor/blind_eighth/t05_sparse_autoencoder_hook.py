"""Sparse autoencoder: a forward hook collects the code for an L1 penalty."""
import torch
import torch.nn as nn

torch.manual_seed(4)

activations = {}


def save_activation(name):
    def hook(module, inputs, output):
        activations[name] = output.detach()
    return hook


class AutoEncoder(nn.Module):
    def __init__(self, d=32, code=48):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, code), nn.ReLU())
        self.decoder = nn.Linear(code, d)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def batches(data, size):
    for idx in torch.randperm(len(data)).split(size):
        yield data[idx]


basis = torch.randn(6, 32)
data = torch.relu(torch.randn(512, 6)) @ basis + 0.05 * torch.randn(512, 32)

ae = AutoEncoder()
ae.encoder.register_forward_hook(save_activation("code"))
optimizer = torch.optim.Adam(ae.parameters(), lr=3e-3)
mse = nn.MSELoss()
l1_weight = 0.5

for epoch in range(30):
    for xb in batches(data, 64):
        recon = ae(xb)
        sparsity = activations["code"].abs().mean()
        loss = mse(recon, xb) + l1_weight * sparsity
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 10 == 9:
        with torch.no_grad():
            ae(data)
        code = activations["code"]
        print(f"epoch {epoch + 1} loss {loss.item():.4f} "
              f"mean|code| {code.abs().mean().item():.4f} "
              f"active {(code > 1e-3).float().mean().item():.3f}")
