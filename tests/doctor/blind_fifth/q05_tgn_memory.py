from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(7)


@dataclass
class Config:
    nodes: int = 30
    mem_dim: int = 16
    events: int = 600
    batch: int = 50
    epochs: int = 8
    lr: float = 5e-3


class Memory:
    def __init__(self, cfg):
        self.cfg = cfg
        self.reset()

    def reset(self):
        self.store = {n: torch.zeros(self.cfg.mem_dim) for n in range(self.cfg.nodes)}

    def get(self, ids):
        return torch.stack([self.store[int(i)] for i in ids])

    def set(self, ids, values):
        for i, v in zip(ids.tolist(), values):
            self.store[i] = v

    def __len__(self):
        return len(self.store)


class TGN(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.updater = nn.GRUCell(cfg.mem_dim + 2, cfg.mem_dim)
        self.link = nn.Sequential(nn.Linear(2 * cfg.mem_dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, m_src, m_dst, x_src, x_dst, t):
        new_src = self.updater(torch.cat([m_dst, x_src, t], 1), m_src)
        new_dst = self.updater(torch.cat([m_src, x_dst, t], 1), m_dst)
        score = self.link(torch.cat([new_src, new_dst], 1)).squeeze(1)
        return score, new_src, new_dst


cfg = Config()
src = torch.randint(0, cfg.nodes, (cfg.events,))
dst = torch.randint(0, cfg.nodes, (cfg.events,))
feat = torch.randn(cfg.nodes, 1)
label = (feat[src] + feat[dst] > 0).float().squeeze(1)
time = torch.arange(cfg.events).float().unsqueeze(1) / cfg.events

memory, model = Memory(cfg), TGN(cfg)
optim = torch.optim.Adam(model.parameters(), lr=cfg.lr)
bce = nn.BCEWithLogitsLoss()

for epoch in range(cfg.epochs):
    memory.reset()
    losses = []
    for s in range(0, cfg.events, cfg.batch):
        sl = slice(s, s + cfg.batch)
        score, ns, nd = model(memory.get(src[sl]), memory.get(dst[sl]), feat[src[sl]], feat[dst[sl]], time[sl])
        loss = bce(score, label[sl])
        optim.zero_grad()
        loss.backward()
        optim.step()
        memory.set(src[sl], ns)
        memory.set(dst[sl], nd)
        losses.append(loss.item())
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
