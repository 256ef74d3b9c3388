import copy

import torch
from agent import Agent
from world import Corridor


def main():
    torch.manual_seed(8)
    agent = Agent()
    behaviour = copy.deepcopy(agent).requires_grad_(False)
    policy_optimizer = torch.optim.Adam(agent.policy.parameters(), lr=4e-3)
    value_optimizer = torch.optim.Adam(agent.value.parameters(), lr=8e-3)
    for iteration in range(4):
        behaviour.load_state_dict(agent.state_dict())
        episode = Corridor().play(behaviour)
        for pass_number in range(2):
            policy_loss, value_loss = agent.losses(episode)
            # the value network learns in the first pass only
            if pass_number == 0:
                value_optimizer.zero_grad()
                value_loss.backward()
                value_optimizer.step()
            policy_optimizer.zero_grad()
            policy_loss.backward()
            policy_optimizer.step()
        print(iteration, len(episode["reward"]), f"{policy_loss.item():+.4f}")


if __name__ == "__main__":
    main()
