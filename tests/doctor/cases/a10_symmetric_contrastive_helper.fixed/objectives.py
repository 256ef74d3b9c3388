import torch
import torch.nn.functional as F


def info_nce(anchor, positive, temperature=0.2):
    logits = anchor @ positive.t() / temperature
    return F.cross_entropy(logits, torch.arange(len(anchor)))
