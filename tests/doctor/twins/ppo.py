"""Rollouts written into tensors without a graph, then minibatches over several epochs."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(1)
STEPS, ENVS = 8, 2


def layer(inputs, outputs, std=2**0.5):
    made = nn.Linear(inputs, outputs)
    torch.nn.init.orthogonal_(made.weight, std)
    torch.nn.init.constant_(made.bias, 0.0)
    return made


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer(4, 16), nn.Tanh(), layer(16, 1, std=1.0))
        self.actor = nn.Sequential(layer(4, 16), nn.Tanh(), layer(16, 2, std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def act(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


agent = Agent()
optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
obs, actions = torch.zeros(STEPS, ENVS, 4), torch.zeros(STEPS, ENVS)
logprobs, rewards, values = torch.zeros(3, STEPS, ENVS).unbind()
state = torch.randn(ENVS, 4)
for iteration in range(4):
    optimizer.param_groups[0]["lr"] = (1.0 - iteration / 4) * 2.5e-4
    for step in range(STEPS):
        obs[step] = state
        with torch.no_grad():
            action, logprob, _, value = agent.act(state)
            values[step] = value.flatten()
        actions[step], logprobs[step] = action, logprob
        state = 0.9 * state + 0.2 * (action * 2 - 1).unsqueeze(1) + 0.1 * torch.randn(ENVS, 4)
        rewards[step] = -state.abs().sum(1)
    with torch.no_grad():
        following = agent.get_value(state).reshape(1, -1)
        advantages, last = torch.zeros_like(rewards), 0
        for t in reversed(range(STEPS)):
            after = following if t == STEPS - 1 else values[t + 1]
            delta = rewards[t] + 0.99 * after - values[t]
            advantages[t] = last = delta + 0.99 * 0.95 * last
        returns = advantages + values
    b_obs, b_actions = obs.reshape(-1, 4), actions.reshape(-1)
    b_logprobs, b_values = logprobs.reshape(-1), values.reshape(-1)
    b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
    clipfracs = []
    for _ in range(3):
        order = torch.randperm(STEPS * ENVS)
        for mb in order.split(8):
            _, newlogprob, entropy, newvalue = agent.act(b_obs[mb], b_actions.long()[mb])
            logratio = newlogprob - b_logprobs[mb]
            ratio = logratio.exp()
            with torch.no_grad():
                approx_kl = ((ratio - 1) - logratio).mean()
                clipfracs += [((ratio - 1.0).abs() > 0.2).float().mean().item()]
            mb_adv = b_advantages[mb]
            mb_adv = (mb_adv - mb_adv.mean()) / (mb_adv.std() + 1e-8)
            pg_loss = torch.max(-mb_adv * ratio, -mb_adv * ratio.clamp(0.8, 1.2)).mean()
            newvalue = newvalue.view(-1)
            clipped = b_values[mb] + torch.clamp(newvalue - b_values[mb], -0.2, 0.2)
            v_loss = 0.5 * torch.max(
                (newvalue - b_returns[mb]) ** 2, (clipped - b_returns[mb]) ** 2
            ).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
print(loss.item(), approx_kl.item(), sum(clipfracs))
