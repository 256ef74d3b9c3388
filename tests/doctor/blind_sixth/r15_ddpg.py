"""One file DDPG on a point mass that has to stay at the origin."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)


def mlp(sizes, out=nn.Identity):
    layers = []
    for i in range(len(sizes) - 1):
        act = nn.ReLU if i < len(sizes) - 2 else out
        layers += [nn.Linear(sizes[i], sizes[i + 1]), act()]
    return nn.Sequential(*layers)


class Agent:
    def __init__(self, obs=2, act=1, gamma=0.97, tau=0.01):
        self.actor = mlp([obs, 32, 32, act], nn.Tanh)
        self.critic = mlp([obs + act, 32, 32, 1])
        self.actor_t = copy.deepcopy(self.actor).requires_grad_(False)
        self.critic_t = copy.deepcopy(self.critic).requires_grad_(False)
        self.opt_a = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.opt_c = torch.optim.Adam(self.critic.parameters(), lr=2e-3)
        self.gamma, self.tau = gamma, tau

    def q(self, net, s, a):
        return net(torch.cat([s, a], 1))

    def update(self, s, a, r, s2):
        with torch.no_grad():
            target = r + self.gamma * self.q(self.critic_t, s2, self.actor_t(s2))
        critic_loss = (self.q(self.critic, s, a) - target).pow(2).mean()
        actor_loss = -self.q(self.critic, s, self.actor(s)).mean()

        self.opt_c.zero_grad()
        critic_loss.backward()
        self.opt_c.step()

        self.opt_a.zero_grad()
        actor_loss.backward()
        self.opt_a.step()
        self.soft_update()
        return critic_loss.item(), actor_loss.item()

    @torch.no_grad()
    def soft_update(self):
        for net, tgt in ((self.actor, self.actor_t), (self.critic, self.critic_t)):
            for p, pt in zip(net.parameters(), tgt.parameters()):
                pt.lerp_(p, self.tau)


def dynamics(s, a):
    v = s[:, 1:] + 0.1 * a
    x = s[:, :1] + 0.1 * v
    return torch.cat([x, v], 1), -(x.pow(2) + 0.1 * a.pow(2))


agent = Agent()
for step in range(60):
    s = torch.randn(64, 2)
    with torch.no_grad():
        a = (agent.actor(s) + 0.2 * torch.randn(64, 1)).clamp(-1, 1)
    s2, r = dynamics(s, a)
    lc, la = agent.update(s, a, r, s2)
    if step % 20 == 0:
        print(f"{step} critic {lc:.3f} actor {la:.3f}")
