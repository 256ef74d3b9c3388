import torch
import torch.nn as nn
import torch.nn.functional as F

SLOTS, WIDTH = 8, 10


class MemoryBank(nn.Module):
    """External memory with content addressing, one read and one write head."""

    def __init__(self):
        super().__init__()
        self.key = nn.Linear(32, WIDTH)
        self.erase = nn.Linear(32, WIDTH)
        self.add = nn.Linear(32, WIDTH)
        self.start = nn.Parameter(0.1 * torch.randn(SLOTS, WIDTH))
        self.memory = None

    def reset(self):
        self.memory = self.start.clone()

    def forward(self, h):
        if self.memory is None:
            self.reset()
        w = F.softmax(F.cosine_similarity(self.key(h).unsqueeze(1), self.memory, dim=-1), dim=-1)
        wm = w.mean(0).unsqueeze(-1)
        erase = torch.sigmoid(self.erase(h)).mean(0)
        add = torch.tanh(self.add(h)).mean(0)
        self.memory = self.memory * (1 - wm * erase) + wm * add
        return w @ self.memory


class CopyMachine(nn.Module):
    def __init__(self, bits=6):
        super().__init__()
        self.controller = nn.GRUCell(bits + WIDTH, 32)
        self.bank = MemoryBank()
        self.out = nn.Linear(32 + WIDTH, bits)

    def forward(self, seq):
        self.bank.reset()
        h = seq.new_zeros(seq.size(1), 32)
        read = seq.new_zeros(seq.size(1), WIDTH)
        outs = []
        for x in seq:
            h = self.controller(torch.cat([x, read], -1), h)
            read = self.bank(h)
            outs.append(self.out(torch.cat([h, read], -1)))
        return torch.stack(outs)


def main():
    torch.manual_seed(0)
    model = CopyMachine()
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for step in range(4):
        seq = torch.randint(0, 2, (5, 4, 6)).float()
        logits = model(seq)
        loss = F.binary_cross_entropy_with_logits(logits, seq)
        opt.zero_grad()
        loss.backward()
        opt.step()
        print(step, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
