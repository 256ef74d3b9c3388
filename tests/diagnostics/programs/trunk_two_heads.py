"""RG101 shared-subgraph: an actor and a critic on one body.

advice: combine-losses, retain-graph + runs
"""

import retrograd as torch
from retrograd import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 8)
        self.actor = nn.Linear(8, 2)
        self.critic = nn.Linear(8, 1)

    def forward(self, state):
        hidden = torch.tanh(self.body(state))  # 1
        return self.actor(hidden), self.critic(hidden)  # 3


model = ActorCritic()
logits, value = model(torch.ones(3, 4))
actor_loss = -torch.log_softmax(logits, 1)[:, 0].mean()
critic_loss = (value - 1).pow(2).mean()
critic_loss.backward()  # 2
actor_loss.backward()
