import torch

from agent import Agent
from grid import Grid

torch.manual_seed(0)


def play(env, agent, steps):
    """A rollout with its log probabilities and values, to be sent back once."""
    rollout = []
    obs = env.observe()
    for _ in range(steps):
        action, log_prob, value, entropy = agent.act(obs)
        obs, reward, done = env.step(action)
        rollout.append((log_prob, value, entropy, reward, done))
    with torch.no_grad():
        bootstrap = agent.value(obs)
    return rollout, bootstrap


env, agent = Grid(size=4, seed=1), Agent(16, 4)
best = float("-inf")
for update in range(20):
    rollout, bootstrap = play(env, agent, steps=12)
    stats = agent.learn(rollout, bootstrap)
    best = max(best, stats["reward"])
    if update % 5 == 4:
        print(update, {key: round(value, 3) for key, value in stats.items()})
print("best", round(best, 3))
