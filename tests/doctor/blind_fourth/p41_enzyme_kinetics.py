"""Fit Michaelis-Menten constants with LBFGS."""
import torch

torch.manual_seed(23)
torch.set_num_threads(1)

TRUE_VMAX, TRUE_KM = 3.2, 0.8
substrate = torch.linspace(0.05, 5.0, 40)
rate = TRUE_VMAX * substrate / (TRUE_KM + substrate)
rate = rate + 0.02 * torch.randn(40)


class MichaelisMenten(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.log_vmax = torch.nn.Parameter(torch.tensor(0.0))
        self.log_km = torch.nn.Parameter(torch.tensor(0.0))

    def forward(self, s):
        return self.log_vmax.exp() * s / (self.log_km.exp() + s)

    def constants(self):
        return self.log_vmax.exp().item(), self.log_km.exp().item()


model = MichaelisMenten()
optimizer = torch.optim.LBFGS(
    model.parameters(), lr=0.5, max_iter=10, history_size=5, line_search_fn="strong_wolfe"
)

for outer in range(5):
    predicted = model(substrate)
    loss = torch.mean((predicted - rate) ** 2)

    def closure():
        optimizer.zero_grad()
        loss.backward()
        return loss

    optimizer.step(closure)
    vmax, km = model.constants()
    print(f"step {outer}: loss {loss.item():.6f} vmax {vmax:.3f} km {km:.3f}")
