import torch
import torch.nn as nn

torch.manual_seed(3)
torch.set_num_threads(1)


class DeepMLP(nn.Module):
    def __init__(self, d_in, width, depth, d_out):
        super().__init__()
        self.input_layer = nn.Linear(d_in, width)
        self.hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.output_layer = nn.Linear(width, d_out)
        self.act = nn.ReLU()

    def forward(self, x):
        x = self.act(self.input_layer(x))
        for layer in self.hidden:
            x = self.act(layer(x))
        return self.output_layer(x)


def spiral(n_per_class=150, classes=3):
    xs, ys = [], []
    for c in range(classes):
        r = torch.linspace(0.1, 1, n_per_class)
        t = torch.linspace(c * 4.19, c * 4.19 + 4.0, n_per_class) + 0.15 * torch.randn(n_per_class)
        xs.append(torch.stack([r * t.sin(), r * t.cos()], 1))
        ys.append(torch.full((n_per_class,), c))
    return torch.cat(xs), torch.cat(ys)


x, y = spiral()
model = DeepMLP(2, 32, 3, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()
start = [l.weight.detach().clone() for l in model.hidden]

for epoch in range(150):
    logits = model(x)
    loss = criterion(logits, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0 or epoch == 149:
        acc = (logits.argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}")

delta = sum((l.weight - s).norm().item() for l, s in zip(model.hidden, start))
print(f"hidden weights moved by {delta:.4f}")
