# L2-SP fine tuning
import torch
from torch import nn
torch.manual_seed(0)
class L2SP(nn.Module):
    def __init__(self, backbone, alpha):
        super().__init__()
        self.backbone, self.alpha = backbone, alpha
        self.start = {}
        for name, p in backbone.named_parameters():
            self.start[name] = p.detach()  # average-of-views: clone
    def forward(self):
        return self.alpha * sum(((p - self.start[n]) ** 2).sum() for n, p in self.backbone.named_parameters())
backbone = nn.Sequential(nn.Linear(8, 16), nn.Tanh())
head = nn.Linear(16, 3)
reg = L2SP(backbone, 0.05)
opt = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
x = torch.randn(90, 8); y = torch.randint(0, 3, (90,))
for it in range(30):
    loss = nn.functional.cross_entropy(head(backbone(x)), y) + reg()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), reg().item())
