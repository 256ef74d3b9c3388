import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 6)
        self.norm = nn.LayerNorm(6)
        self.hidden, self.out = nn.Linear(6, 6), nn.Linear(6, 10)
    def forward(self, tokens):
        return self.out(self.hidden(self.norm(self.embed(tokens))).tanh())
def groups(net):
    decay, plain = set(), set()
    for path, module in net.named_modules():
        for name, _ in module.named_parameters(recurse=False):
            full = f"{path}.{name}" if path else name
            if name == "bias":
                plain.add(full)
            elif isinstance(module, nn.Linear):
                decay.add(full)
            elif isinstance(module, nn.LayerNorm):  # stale-optimizer-params: rebuild-optimizer
                plain.add(full)
    found = dict(net.named_parameters())
    return [
        {"params": [found[name] for name in sorted(decay)], "weight_decay": 0.1},
        {"params": [found[name] for name in sorted(plain)], "weight_decay": 0.0},
    ]
net = Net()
opt = torch.optim.AdamW(groups(net), lr=0.01)
for _ in range(6):
    tokens = torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(net(tokens), tokens)
    opt.zero_grad()
    loss.backward()
    opt.step()
