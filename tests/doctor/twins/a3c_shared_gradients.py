"""A worker's gradients become those of a shared model; its memory goes on over rollouts, detached."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.lstm = nn.Linear(4, 8), nn.LSTMCell(8, 8)
        self.critic, self.actor = nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, given):
        x, (hx, cx) = given
        hx, cx = self.lstm(F.elu(self.body(x)), (hx, cx))
        return self.critic(hx), self.actor(hx), (hx, cx)


def ensure_shared_grads(model, shared_model):
    for param, shared in zip(model.parameters(), shared_model.parameters()):
        if shared.grad is not None:
            return
        shared._grad = param.grad


shared_model, model = ActorCritic(), ActorCritic()
optimizer = torch.optim.Adam(shared_model.parameters(), lr=1e-3)
model.train()
state, done, length = torch.randn(1, 4), True, 0
for _ in range(16):
    model.load_state_dict(shared_model.state_dict())
    if done:
        cx, hx = torch.zeros(1, 8), torch.zeros(1, 8)
    else:
        cx, hx = cx.detach(), hx.detach()
    values, log_probs, rewards, entropies = [], [], [], []
    for _ in range(5):
        length += 1
        value, logit, (hx, cx) = model((state, (hx, cx)))
        prob, log_prob = F.softmax(logit, dim=-1), F.log_softmax(logit, dim=-1)
        entropies.append(-(log_prob * prob).sum(1, keepdim=True))
        action = prob.multinomial(num_samples=1).detach()
        log_prob = log_prob.gather(1, action)
        state = 0.9 * state + 0.2 * (action * 2 - 1) + 0.1 * torch.randn(1, 4)
        done = length >= 23
        values.append(value)
        log_probs.append(log_prob)
        rewards.append(-state.abs().sum().item())
        if done:
            length, state = 0, torch.randn(1, 4)
            break
    R = torch.zeros(1, 1)
    if not done:
        value, _, _ = model((state, (hx, cx)))
        R = value.detach()
    values.append(R)
    policy_loss, value_loss, gae = 0, 0, torch.zeros(1, 1)
    for i in reversed(range(len(rewards))):
        R = 0.99 * R + rewards[i]
        advantage = R - values[i]
        value_loss = value_loss + 0.5 * advantage.pow(2)
        delta = rewards[i] + 0.99 * values[i + 1] - values[i]
        gae = gae * 0.99 + delta
        policy_loss = policy_loss - log_probs[i] * gae.detach() - 0.01 * entropies[i]
    optimizer.zero_grad()
    model.zero_grad()
    (policy_loss + 0.5 * value_loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 50)
    ensure_shared_grads(model, shared_model)
    optimizer.step()
print(policy_loss.item(), value_loss.item())
