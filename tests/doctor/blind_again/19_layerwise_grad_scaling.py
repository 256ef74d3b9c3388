import torch
import torch.nn as nn
import torch.nn.functional as F


class CharCNN(nn.Module):
    def __init__(self, vocab=16, dim=12, classes=2):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.c1 = nn.Conv1d(dim, 24, 3, padding=1)
        self.c2 = nn.Conv1d(24, 24, 3, padding=1)
        self.fc = nn.Linear(24, classes)

    def forward(self, ids):
        h = self.emb(ids).transpose(1, 2)
        h = F.relu(self.c2(F.relu(self.c1(h))))
        return self.fc(h.amax(-1))


DECAY = {"emb": 0.5, "c1": 0.7, "c2": 0.9, "fc": 1.0}


def scale_gradients(model):
    for name, p in model.named_parameters():
        factor = DECAY[name.split(".")[0]]
        p.register_hook(lambda g, f=factor: g * f)


def batch(n, length=14):
    ids = torch.randint(0, 16, (n, length))
    pair = ((ids[:, :-1] == 3) & (ids[:, 1:] == 5)).any(1)
    plant = torch.rand(n) < 0.4
    ids[plant, 4], ids[plant, 5] = 3, 5
    return ids, (pair | plant).long()


def train_step(model, opt, ids, y):
    scale_gradients(model)
    loss = F.cross_entropy(model(ids), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def main():
    torch.manual_seed(29)
    model = CharCNN()
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.8)
    losses = []
    for step in range(200):
        losses.append(train_step(model, opt, *batch(48)))
    print(f"loss {sum(losses[-10:]) / 10:.4f}")


main()
