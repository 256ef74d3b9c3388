# deterministic policy gradient for keeping a water tank at its set point
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_num_threads(1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
        self.value = nn.Linear(32, 1)

    def forward(self, state, action):
        return self.value(self.body(torch.cat([state, action], dim=-1))).squeeze(-1)


actor = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
critic = Critic()
actor_optim = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_optim = torch.optim.Adam(critic.parameters(), lr=1e-2)


def environment(state, action):
    level, inflow = state.unbind(-1)
    new_level = level + 0.5 * inflow + action.squeeze(-1)
    return -(new_level ** 2)


def policy_score():
    gen = torch.Generator().manual_seed(1)
    state = torch.randn(256, 2, generator=gen) * 0.5
    with torch.no_grad():
        return environment(state, actor(state)).mean().item()


print("before:", round(policy_score(), 4))
for step in range(300):
    state = torch.randn(64, 2) * 0.5
    with torch.no_grad():
        action = (actor(state) + 0.3 * torch.randn(64, 1)).clamp(-1, 1)
    reward = environment(state, action)

    critic_loss = F.mse_loss(critic(state, action), reward)
    actor_loss = -critic(state, actor(state)).mean()

    critic_optim.zero_grad()
    critic_loss.backward()
    critic_optim.step()

    actor_optim.zero_grad()
    actor_loss.backward()
    actor_optim.step()
print("after:", round(policy_score(), 4))
