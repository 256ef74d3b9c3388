import torch
import torch.nn as nn

torch.manual_seed(66)
torch.set_num_threads(1)


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16), nn.BatchNorm1d(16), nn.ReLU())


class Transfer(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad_(False)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(16, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()
        return self

    def forward(self, x):
        with torch.no_grad():
            f = self.backbone(x)
        return self.head(self.drop(f))


def task(classes, n=300):
    c = torch.randn(classes, 12)
    y = torch.randint(0, classes, (n,))
    return c[y] + 0.6 * torch.randn(n, 12), y


def run(model, params, x, y, epochs, tag):
    opt = torch.optim.Adam(params, lr=1e-2)
    for e in range(epochs):
        model.train()
        total = 0.0
        for i in torch.randperm(len(x)).split(50):
            loss = nn.functional.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if e % 5 == 0 or e == epochs - 1:
            print(f"{tag} epoch {e} loss {total / 6:.4f}")


pre = nn.Sequential(Backbone(), nn.Linear(16, 6))
run(pre, pre.parameters(), *task(6), epochs=8, tag="pretrain")
model = Transfer(pre[0], 4)
frozen = {k: v.clone() for k, v in model.backbone.state_dict().items()}
run(model, [p for p in model.parameters() if p.requires_grad], *task(4), epochs=15, tag="finetune")
print("backbone unchanged:", all(torch.equal(v, frozen[k]) for k, v in model.backbone.state_dict().items()))
