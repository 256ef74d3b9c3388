import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class DualEncoder(nn.Module):
    def __init__(self, d_image=12, d_text=9, d_joint=8):
        super().__init__()
        self.image = nn.Linear(d_image, d_joint)
        self.text = nn.Sequential(nn.Linear(d_text, 16), nn.GELU(), nn.Linear(16, d_joint))
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    @property
    def scale(self):
        return self.log_scale.exp().clamp(max=100.0)

    def forward(self, images, texts):
        a = F.normalize(self.image(images), dim=-1)
        b = F.normalize(self.text(texts), dim=-1)
        return self.scale * a @ b.t()


def contrastive(logits):
    target = torch.arange(len(logits))
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def pairs(n, gen):
    shared = torch.randn(n, 4, generator=gen)
    images = torch.cat([shared, shared * 0.5, torch.randn(n, 4, generator=gen)], 1)
    texts = torch.cat([shared, torch.randn(n, 5, generator=gen)], 1)
    return images, texts


def train(steps=8):
    gen = torch.Generator().manual_seed(0)
    model = DualEncoder()
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    opt = torch.optim.AdamW([{"params": decay}, {"params": plain, "weight_decay": 0.0}], lr=1e-2)
    for step in range(steps):
        loss = contrastive(model(*pairs(16, gen)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update_parameters(model)
        print(step, f"loss {loss.item():.3f} scale {model.scale.item():.3f}")
    return ema


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
