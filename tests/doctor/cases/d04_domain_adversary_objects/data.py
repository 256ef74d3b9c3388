import torch


def make_domains(n=64):
    centers = torch.randn(4, 10) * 2
    source_y = torch.randint(0, 4, (n,))
    source_x = centers[source_y] + torch.randn(n, 10)
    target_x = centers[torch.randint(0, 4, (n,))] + 0.5 + torch.randn(n, 10)
    return source_x, source_y, target_x
