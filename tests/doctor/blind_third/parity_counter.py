import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)


def error_rate(logits, labels):
    predicted = logits.argmax(dim=1)
    return (predicted != labels).float().mean()


def make_loader(n=400):
    bits = torch.randint(0, 2, (n, 4)).float()
    parity = (bits.sum(1) % 2).long()
    return DataLoader(TensorDataset(bits, parity), batch_size=40, shuffle=True)


def train(net, loader, epochs):
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    for epoch in range(epochs):
        running = 0.0
        for bits, parity in loader:
            logits = net(bits)
            # we want to minimise the number of wrong answers
            loss = error_rate(logits, parity)
            loss.requires_grad_(True)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += error_rate(logits, parity).item()
        if epoch % 5 == 0:
            print(f"epoch {epoch:2d}  error rate {running / len(loader):.3f}")


net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
loader = make_loader()
train(net, loader, epochs=25)
bits, parity = loader.dataset.tensors
print(f"final error rate {error_rate(net(bits), parity).item():.3f}")
