"""Two ways to learn from another network: distillation, and contrastive pairs (SimCLR, CLIP).

usage: distill_contrastive.py [--temperature T] [--only {distill,simclr,clip}]
"""

import sys
import argparse
import numpy as np
import torch as th
import torch.nn as nn
import torch.nn.functional as F
from torch.utils import data as D

parser = argparse.ArgumentParser()
parser.add_argument("--temperature", type=float, default=3.0)
parser.add_argument("--only", choices=["distill", "simclr", "clip"])
opt = parser.parse_args()

th.manual_seed(0)
th.set_num_threads(1)
rng = np.random.default_rng(0)

CLASSES, DIM = 6, 16
prototypes = rng.normal(size=(CLASSES, DIM)).astype("float32")
labels = rng.integers(0, CLASSES, size=512)
features = th.from_numpy(prototypes[labels] + 0.9 * rng.normal(size=(512, DIM)).astype("float32"))
labels = th.from_numpy(labels)
train_set = D.TensorDataset(features[:384], labels[:384])
test_x, test_y = features[384:], labels[384:]
train_loader = D.DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True)


def mlp(*sizes, norm=True, act=nn.ReLU):
    layers: list = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(n_in, n_out)] + ([nn.BatchNorm1d(n_out)] if norm else []) + [act()]
    return nn.Sequential(*layers[: -2 if norm else -1])


@th.no_grad()
def accuracy(net):
    net.eval()
    acc = net(test_x).argmax(1).eq(test_y).float().mean().item()
    net.train()
    return acc


def distill():
    teacher, student = mlp(DIM, 64, 64, CLASSES), mlp(DIM, 8, CLASSES, norm=False)
    optim = th.optim.SGD(teacher.parameters(), lr=0.2, momentum=0.8)
    for epoch in range(4):
        for x, y in train_loader:
            optim.zero_grad()
            loss = F.cross_entropy(teacher(x), y, label_smoothing=0.1)
            loss.backward()
            optim.step()
        print("teacher epoch %d loss %.4f" % (epoch, loss.item()))
    print("teacher accuracy %.3f" % accuracy(teacher))

    for p in teacher.parameters():
        p.requires_grad = False
    teacher.eval()
    T = opt.temperature
    kl = nn.KLDivLoss(reduction="batchmean", log_target=True)
    optim = th.optim.RAdam(student.parameters(), lr=2e-2)
    for epoch in range(6):
        for x, y in train_loader:
            out = student(x)
            soft = kl(F.log_softmax(out / T, 1), F.log_softmax(teacher(x) / T, 1)) * T * T
            hard = F.cross_entropy(out, y)
            loss = 0.7 * soft + 0.3 * hard
            optim.zero_grad()
            loss.backward()
            optim.step()
        print("student epoch %d soft %.4f hard %.4f" % (epoch, soft.item(), hard.item()))
    print("student accuracy %.3f" % accuracy(student))


def nt_xent(z1, z2, tau=0.3):
    n = z1.shape[0]
    z = F.normalize(th.cat([z1, z2]), dim=1)
    sim = th.einsum("id,jd->ij", z, z) / tau
    sim = sim.masked_fill(th.eye(2 * n, dtype=th.bool), float("-inf"))
    target = (th.arange(2 * n) + n) % (2 * n)
    return F.cross_entropy(sim, target)


def simclr():
    encoder, head = mlp(DIM, 32, 16), mlp(16, 16, 8, norm=False)
    optim = th.optim.SGD(
        [
            {"params": encoder.parameters(), "weight_decay": 1e-4},
            {"params": head.parameters(), "lr": 0.2},
        ],
        lr=0.1,
        momentum=0.9,
    )
    for epoch in range(5):
        for x, _ in train_loader:
            view1 = F.dropout(x, 0.2) + 0.3 * th.randn_like(x)
            view2 = F.dropout(x, 0.2) + 0.3 * th.randn_like(x)
            loss = nt_xent(head(encoder(view1)), head(encoder(view2)))
            optim.zero_grad()
            loss.backward()
            optim.step()
        print("simclr epoch %d loss %.4f" % (epoch, loss.item()))
    encoder.eval()
    with th.no_grad():
        keys, queries = F.normalize(encoder(features[:384])), F.normalize(encoder(test_x))
    nearest = (queries @ keys.t()).topk(5, dim=1).indices
    votes = F.one_hot(labels[:384][nearest], CLASSES).sum(1).argmax(1)
    print("simclr 5-nn accuracy %.3f" % (votes == test_y).double().mean())


class CLIP(nn.Module):
    def __init__(self):
        super().__init__()
        self.image = mlp(DIM, 32, 12)
        self.text = nn.EmbeddingBag(40, 12, mode="sum")
        self.logit_scale = nn.Parameter(th.ones([]) * np.log(1 / 0.07))

    def forward(self, image, text):
        image, text = self.image(image), self.text(text)
        image = image / image.norm(dim=1, keepdim=True)
        text = text / text.norm(dim=-1, keepdim=True)
        logits = self.logit_scale.exp() * image @ text.t()
        return logits, logits.t()


def clip():
    model = CLIP()
    captions = th.stack(
        [
            labels * 4 + th.randint(0, 4, (512,)),
            24 + (features[:, 0] > 0).long() * 8 + th.randint(0, 8, (512,)),
        ],
        1,
    )
    optim = th.optim.AdamW(
        model.parameters(), lr=1e-2, weight_decay=0.05, betas=(0.9, 0.98), eps=1e-6
    )
    for step in range(40):
        idx = th.randperm(512)[:48]
        per_image, per_text = model(features[idx], captions[idx])
        truth = th.arange(48)
        loss = (F.cross_entropy(per_image, truth) + F.cross_entropy(per_text, truth)) / 2
        optim.zero_grad()
        loss.backward()
        optim.step()
        model.logit_scale.data.clamp_(0, np.log(30))
        if step % 10 == 9:
            print(
                "clip step %d loss %.4f scale %.4f"
                % (step + 1, loss.item(), model.logit_scale.exp().item())
            )


for run in (distill, simclr, clip):
    if opt.only in (None, run.__name__):
        th.manual_seed(17)
        run()
sys.stdout.flush()
