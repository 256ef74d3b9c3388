import copy

import torch

from clients import make_clients
from server import average_into


def main(rounds=6):
    torch.manual_seed(51)
    clients, test = make_clients(n_clients=5)
    world = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    for r in range(rounds):
        local = [c.train(copy.deepcopy(world)) for c in clients]
        average_into(world, local, weights=[len(c) for c in clients])
        with torch.no_grad():
            acc = (world(test[0]).argmax(1) == test[1]).float().mean().item()
        print(f"round {r}: test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
