import retrograd as torch
from retrograd.nn import functional as F


def layer(x):
    return F.dropout(x.relu(), p=0.5)


images = torch.ones(4, 3)
torch.func.vmap(layer)(images)
