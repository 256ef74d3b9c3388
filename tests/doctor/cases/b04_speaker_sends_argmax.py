import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
OBJECTS, SYMBOLS, DIM = 6, 8, 16


class Speaker(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Linear(DIM, 32)
        self.say = nn.Linear(32, SYMBOLS)

    def forward(self, target):
        return self.say(torch.tanh(self.look(target)))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Parameter(torch.randn(SYMBOLS, DIM) * 0.2)
        self.match = nn.Linear(DIM, DIM)

    def forward(self, message, candidates):
        meaning = self.match(message @ self.hear)
        return torch.einsum("bd,bkd->bk", meaning, candidates)


def play(speaker, listener, world, batch=64):
    order = torch.stack([torch.randperm(OBJECTS)[:3] for _ in range(batch)])
    answer = torch.randint(0, 3, (batch,))
    candidates = world[order]
    target = candidates[torch.arange(batch), answer]
    logits = speaker(target)
    message = F.one_hot(logits.argmax(-1), SYMBOLS).float()
    scores = listener(message, candidates)
    return F.cross_entropy(scores, answer), (scores.argmax(-1) == answer).float().mean()


world = torch.randn(OBJECTS, DIM)
speaker, listener = Speaker(), Listener()
players = nn.ModuleList([speaker, listener])
opt = torch.optim.Adam(players.parameters(), lr=1e-2)
for game in range(60):
    loss, accuracy = play(speaker, listener, world)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if game % 15 == 14:
        print(f"game {game}: loss {loss.item():.3f} accuracy {accuracy.item():.2f}")
