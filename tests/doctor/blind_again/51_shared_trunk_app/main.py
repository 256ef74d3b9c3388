import torch

from data import batches
from nets import build
from updates import update_heads


def main():
    torch.manual_seed(11)
    trunk, heads = build(in_dim=10, width=32, outputs={"age": 1, "sex": 2})
    optimizers = {
        "age": torch.optim.Adam(list(trunk.parameters()) + list(heads["age"].parameters()), lr=2e-3),
        "sex": torch.optim.Adam(heads["sex"].parameters(), lr=2e-3),
    }
    for epoch in range(3):
        sums = {"age": 0.0, "sex": 0.0}
        for x, targets in batches(n=6, size=32):
            features = trunk(x)
            report = update_heads(features, heads, targets, optimizers)
            for name, value in report.items():
                sums[name] += value
        print(epoch, {k: round(v / 6, 3) for k, v in sums.items()})


if __name__ == "__main__":
    main()
