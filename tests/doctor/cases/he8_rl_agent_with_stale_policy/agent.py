import torch
from torch import nn


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.value = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def act(self, state):
        chosen = torch.distributions.Categorical(logits=self.policy(state))
        action = chosen.sample()
        return action, chosen.log_prob(action)

    @staticmethod
    def returns(rewards, discount=0.95):
        out = torch.tensor(rewards)
        for t in reversed(range(len(rewards) - 1)):
            out[t] += discount * out[t + 1]
        return out

    def losses(self, episode):
        states, actions = torch.stack(episode["state"]), torch.stack(episode["action"])
        old = torch.stack(episode["log_prob"])
        target = self.returns(episode["reward"])
        value = self.value(states).squeeze(-1)
        advantage = (target - value).detach()
        new = torch.log_softmax(self.policy(states), -1).gather(1, actions[:, None]).squeeze(1)
        ratio = (new - old).exp()
        clipped = ratio.clamp(0.8, 1.2)
        return -torch.minimum(ratio * advantage, clipped * advantage).mean(), (value - target).square().mean()
