import torch


def make_bags(count, features=5):
    """A bag is positive if one of its instances has a large first feature."""
    generator = torch.Generator().manual_seed(11)
    bags = []
    for i in range(count):
        size = int(torch.randint(3, 7, (1,), generator=generator))
        bag = torch.randn(size, features, generator=generator)
        label = i % 2
        bag[:, 0] = -1.0
        if label:
            bag[0, 0] = 3.0
        bags.append((bag, torch.tensor([float(label)])))
    return bags
