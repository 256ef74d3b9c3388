import torch


class Corridor:
    def __init__(self, length=6, limit=25):
        self.length, self.limit = length, limit

    def play(self, agent):
        episode = {"state": [], "action": [], "log_prob": [], "reward": []}
        place, moves = 0, 0
        while place < self.length and moves < self.limit:
            state = torch.tensor([place / self.length, moves / self.limit])
            action, log_prob = agent.act(state)
            place = max(0, place + (1 if action.item() else -1))
            moves += 1
            for key, value in zip(episode, (state, action, log_prob, 1.0 if place == self.length else -0.05)):
                episode[key].append(value)
        return episode
