"""Only the upper blocks are trained, with decay for their weights; the lower one stays."""
import torch
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 6)
        self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(4))
        self.out = nn.Linear(6, 10)
    def forward(self, tokens):
        x = self.embed(tokens)
        for block in self.blocks:
            x = x + block(x).tanh()
        return self.out(x)
net = Net()
top = [*net.blocks[1:], net.out]
decay = [module.weight for module in top]
plain = [module.bias for module in top]
opt = torch.optim.AdamW([{"params": decay}, {"params": plain, "weight_decay": 0.0}], lr=0.01)
for _ in range(6):
    tokens = torch.randint(0, 10, (8,))
    loss = nn.functional.cross_entropy(net(tokens), tokens)
    opt.zero_grad()
    loss.backward()
    opt.step()
