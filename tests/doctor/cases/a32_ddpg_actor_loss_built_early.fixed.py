import copy
from types import SimpleNamespace

import torch
import torch.nn as nn


def build(sizes, final=None):
    layers = []
    for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers.append(nn.ReLU())
    return nn.Sequential(*layers, *([final] if final else []))


class Critic(nn.Module):
    def __init__(self, n_state, n_action):
        super().__init__()
        self.net = build([n_state + n_action, 24, 24, 1])

    def forward(self, state, action):
        return self.net(torch.cat([state, action], dim=-1)).squeeze(-1)


class DDPG:
    def __init__(self, n_state, n_action, gamma=0.95, tau=0.05):
        self.actor = build([n_state, 24, n_action], nn.Tanh())
        self.critic = Critic(n_state, n_action)
        self.actor_target = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_target = copy.deepcopy(self.critic).requires_grad_(False)
        self.actor_opt = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.critic_opt = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.tau = gamma, tau

    def losses(self, batch):
        with torch.no_grad():
            next_q = self.critic_target(batch.next, self.actor_target(batch.next))
            target = batch.reward + self.gamma * next_q
        critic_loss = (self.critic(batch.state, batch.action) - target).pow(2).mean()
        actor_loss = -self.critic(batch.state, self.actor(batch.state)).mean()
        return critic_loss, actor_loss

    def update(self, batch):
        critic_loss, actor_loss = self.losses(batch)
        self.critic_opt.zero_grad()
        critic_loss.backward()
        self.critic_opt.step()

        self.actor_opt.zero_grad()
        actor_loss = -self.critic(batch.state, self.actor(batch.state)).mean()
        actor_loss.backward()
        self.actor_opt.step()
        self.track(self.actor, self.actor_target)
        self.track(self.critic, self.critic_target)
        return critic_loss.item(), actor_loss.item()

    @torch.no_grad()
    def track(self, online, target):
        for p, q in zip(online.parameters(), target.parameters()):
            q.lerp_(p, self.tau)


def transitions(n):
    state, action = torch.randn(n, 3), torch.rand(n, 1) * 2 - 1
    following = 0.9 * state + torch.cat([action, 0 * action, -action], dim=1) * 0.2
    reward = -following.norm(dim=1)
    return SimpleNamespace(state=state, action=action, next=following, reward=reward)


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = DDPG(3, 1)
    for it in range(20):
        c, a = agent.update(transitions(32))
        if it % 5 == 4:
            print(it, round(c, 4), round(a, 4))
