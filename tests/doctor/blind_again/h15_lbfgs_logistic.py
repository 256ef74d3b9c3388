import torch
from torch import nn


def fit(x, y, l2=1e-3, rounds=4):
    model = nn.Linear(x.size(1), 1)
    solver = torch.optim.LBFGS(model.parameters(), max_iter=10, history_size=5, line_search_fn="strong_wolfe")
    evaluations = []

    def closure():
        solver.zero_grad()
        logits = model(x).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(logits, y) + l2 * model.weight.pow(2).sum()
        loss.backward()
        evaluations.append(loss.item())
        return loss

    for _ in range(rounds):
        first = solver.step(closure)
    return model, evaluations, first


if __name__ == "__main__":
    torch.manual_seed(9)
    x = torch.randn(300, 8)
    y = (x @ torch.randn(8) + 0.5 * torch.randn(300) > 0).float()
    model, evaluations, _ = fit(x, y)
    acc = ((model(x).squeeze(1) > 0).float() == y).float().mean().item()
    print(f"{len(evaluations)} evaluations, loss {evaluations[0]:.4f} -> {evaluations[-1]:.4f}, accuracy {acc:.3f}")
