"""A cell that is called letter by letter, gradients added to the weights by hand."""

import torch
from torch import nn

torch.manual_seed(0)


class RNN(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.hidden_size = hidden
        self.i2h, self.h2h = nn.Linear(inputs, hidden), nn.Linear(hidden, hidden)
        self.h2o, self.softmax = nn.Linear(hidden, outputs), nn.LogSoftmax(dim=1)

    def forward(self, x, hidden):
        hidden = torch.tanh(self.i2h(x) + self.h2h(hidden))
        return self.softmax(self.h2o(hidden)), hidden

    def init_hidden(self):
        return torch.zeros(1, self.hidden_size)


rnn, criterion, rate = RNN(7, 12, 3), nn.NLLLoss(), 0.005


def train(category, letters):
    hidden = rnn.init_hidden()
    rnn.zero_grad()
    for i in range(letters.size()[0]):
        output, hidden = rnn(letters[i], hidden)
    loss = criterion(output, category)
    loss.backward()
    for p in rnn.parameters():
        p.data.add_(p.grad.data, alpha=-rate)
    return output, loss.item()


current, all_losses = 0, []
for i in range(1, 31):
    category = torch.randint(0, 3, (1,))
    letters = torch.eye(7)[torch.randint(0, 7, (4,))].unsqueeze(1)
    output, loss = train(category, letters)
    guess = output.topk(1)[1][0].item()
    current += loss
    if i % 10 == 0:
        all_losses.append(current / 10)
        current = 0
confusion = torch.zeros(3, 3)
for _ in range(5):
    hidden = rnn.init_hidden()
    for letter in torch.eye(7)[torch.randint(0, 7, (4,))].unsqueeze(1):
        output, hidden = rnn(letter, hidden)
    confusion[0][output.argmax().item()] += 1
print(all_losses, guess, confusion[0].tolist())
