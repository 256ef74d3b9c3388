import torch
import torch.nn as nn
from torch.distributions import Categorical


class Agent:
    def __init__(self, n_obs, n_actions, gamma=0.9):
        self.trunk = nn.Sequential(nn.Linear(n_obs, 24), nn.ReLU())
        self.pi, self.v = nn.Linear(24, n_actions), nn.Linear(24, 1)
        self.modules = nn.ModuleList([self.trunk, self.pi, self.v])
        self.optimizer = torch.optim.RMSprop(self.modules.parameters(), lr=3e-3)
        self.gamma = gamma

    def act(self, obs):
        h = self.trunk(obs)
        dist = Categorical(logits=self.pi(h))
        action = dist.sample()
        return action.item(), dist.log_prob(action), self.v(h).squeeze(-1), dist.entropy()

    def value(self, obs):
        return self.v(self.trunk(obs)).squeeze(-1)

    def learn(self, rollout, bootstrap):
        policy_loss, value_loss, ret = 0.0, 0.0, bootstrap
        for log_prob, value, entropy, reward, done in reversed(rollout):
            ret = reward + self.gamma * ret * (1.0 - done)
            policy_loss = policy_loss - log_prob * (ret - value.detach()) - 0.01 * entropy
            value_loss = value_loss + 0.5 * (ret - value).pow(2)
        self.optimizer.zero_grad()
        # two calls on one graph: the share of each loss in the trunk's gradient is reported
        policy_loss.backward(retain_graph=True)
        policy_norm = self.trunk[0].weight.grad.norm().item()
        value_loss.backward()
        total_norm = torch.nn.utils.clip_grad_norm_(self.modules.parameters(), 1.0).item()
        self.optimizer.step()
        reward = sum(entry[3] for entry in rollout)
        return {"reward": reward, "policy_norm": policy_norm, "total_norm": total_norm}
