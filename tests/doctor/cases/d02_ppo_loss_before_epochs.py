import torch
import torch.nn as nn
from torch.distributions import Categorical


class Policy(nn.Module):
    def __init__(self, obs=5, actions=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, 32), nn.Tanh())
        self.pi = nn.Linear(32, actions)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PPO:
    def __init__(self, clip=0.2, k_epochs=4):
        self.policy = Policy()
        self.opt = torch.optim.Adam(self.policy.parameters(), lr=3e-4)
        self.clip = clip
        self.k_epochs = k_epochs

    def collect(self, n=40):
        obs = torch.randn(n, 5)
        with torch.no_grad():
            dist, _ = self.policy(obs)
            act = dist.sample()
            logp = dist.log_prob(act)
        rew = (act == obs[:, :3].argmax(-1)).float()
        return obs, act, logp, rew

    def loss(self, obs, act, old_logp, rew):
        dist, value = self.policy(obs)
        adv = rew - value.detach()
        ratio = torch.exp(dist.log_prob(act) - old_logp)
        surr = torch.min(ratio * adv, ratio.clamp(1 - self.clip, 1 + self.clip) * adv)
        return -surr.mean() + 0.5 * (rew - value).pow(2).mean() - 0.01 * dist.entropy().mean()

    def update(self):
        batch = self.collect()
        loss = self.loss(*batch)
        for _ in range(self.k_epochs):
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    agent = PPO()
    for it in range(3):
        print(it, round(agent.update(), 4))
