import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 32), nn.Tanh(), nn.Linear(32, n_out))


class QuoteAgent:
    """Learns bid/ask offsets; the critic scores (state, quote) pairs."""

    def __init__(self, state_dim=6, quote_dim=2):
        self.actor = mlp(state_dim, quote_dim)
        self.critic = mlp(state_dim + quote_dim, 1)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=5e-3)

    def score(self, state, quote):
        return self.critic(torch.cat([state, quote], dim=-1)).squeeze(-1)

    def update(self, state, quote, pnl):
        critic_loss = F.mse_loss(self.score(state, quote), pnl)
        actor_loss = -self.score(state, self.actor(state)).mean()

        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        self.actor_opt.zero_grad()
        actor_loss.backward()
        self.actor_opt.step()
        return critic_loss.item(), actor_loss.item()


def simulate(agent, n=128):
    state = torch.randn(n, 6)
    with torch.no_grad():
        quote = agent.actor(state) + 0.2 * torch.randn(n, 2)
    pnl = 1.0 - (quote - 0.5 * state[:, :2]).square().sum(-1)
    return state, quote, pnl


def main():
    torch.manual_seed(11)
    agent = QuoteAgent()
    for day in range(60):
        c, a = agent.update(*simulate(agent))
        if day % 20 == 0:
            print(f"day {day}: critic {c:.4f} actor {a:.4f}")


main()
