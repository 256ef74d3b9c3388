"""RG101 shared-subgraph: the critic's value trains the critic and weighs the actor.

advice: detach + edit, detach + runs, retain-graph + runs, recompute-forward
"""

import retrograd as torch
from retrograd import nn

actor, critic = nn.Linear(3, 2), nn.Linear(3, 1)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.1)
state = torch.ones(5, 3)

value = torch.tanh(critic(state))  # 1
critic_loss = (value - 1).pow(2).mean()  # 2
critic_loss.backward()  # 3
critic_optimizer.step()
log_probability = torch.log_softmax(actor(state), 1)[:, :1]
actor_loss = -(log_probability * (1 - value)).mean()  # 4
actor_loss.backward()
