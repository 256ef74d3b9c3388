import torch
from graphs import random_molecule
from mpnn import MessagePassing


def main(epochs=3):
    torch.manual_seed(0)
    model = MessagePassing(node_dim=6, edge_dim=3, rounds=2)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)
    data = [random_molecule(seed) for seed in range(4)]
    for epoch in range(epochs):
        total = 0.0
        for graph in data:
            energy = model(graph)
            loss = (energy - graph.energy) ** 2
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        print(epoch, round(total / len(data), 4))


if __name__ == "__main__":
    main()
