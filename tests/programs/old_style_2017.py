from __future__ import print_function
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.autograd import Variable

# written for PyTorch 0.3 and moved along by hand: .data[0] is .item() now, volatile is gone
parser = argparse.ArgumentParser(description="tell five little pictures apart")
parser.add_argument("--batch-size", type=int, default=32, metavar="N")
parser.add_argument("--epochs", type=int, default=4, metavar="N")
parser.add_argument("--lr", type=float, default=0.08, metavar="LR")
parser.add_argument("--no-cuda", action="store_true", default=False)
parser.add_argument("--seed", type=int, default=1, metavar="S")
args = parser.parse_args()
use_cuda = torch.cuda.is_available() and not args.no_cuda

torch.manual_seed(args.seed)
if use_cuda:
    torch.cuda.manual_seed_all(args.seed)
FloatTensor = torch.cuda.FloatTensor if use_cuda else torch.FloatTensor
LongTensor = torch.cuda.LongTensor if use_cuda else torch.LongTensor

glyphs = torch.FloatTensor(5, 1, 12, 12).zero_()
glyphs[0][0, 2:10, 5:7] = 1
glyphs[1][0, 5:7, 2:10] = 1
glyphs[2][0, 3:9, 3:9] = 1
glyphs[2][0, 4:8, 4:8] = 0
for i in range(12):
    glyphs[3][0, i, i] = 1
    glyphs[4][0, i, 11 - i] = 1


def make_set(n):
    labels = torch.LongTensor([i % 5 for i in range(n)])
    images = glyphs.index_select(0, labels).clone()
    images.add_(torch.Tensor(images.size()).normal_(0, 0.4))
    return images.type(FloatTensor), labels.type(LongTensor)


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, kernel_size=3),
            nn.MaxPool2d(2),
            nn.ReLU(inplace=True),
            nn.Conv2d(6, 12, kernel_size=2),
            nn.Dropout2d(0.2),
            nn.MaxPool2d(2),
            nn.Threshold(0, 0),
        )
        self.value = nn.Linear(48, 24)
        self.gate = nn.Linear(48, 24)
        self.scores = nn.Linear(24, 5)

    def forward(self, x):
        x = self.features(x)
        x = x.view(x.size(0), -1)
        x = F.tanh(self.value(x)) * F.sigmoid(self.gate(x))
        x = F.dropout(x, p=0.2, training=self.training)
        return F.log_softmax(self.scores(x), dim=1)


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        m.weight.data.normal_(0.0, 0.2)
    elif "Linear" in name:
        nn.init.xavier_uniform_(m.weight.data)
        m.bias.data.fill_(0)


model = Net()
model.apply(weights_init)
if use_cuda:
    model.cuda()
optimizer = optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
averages = dict((k, v.data.clone()) for k, v in model.named_parameters())
train_x, train_y = make_set(384)
test_x, test_y = make_set(100)

for epoch in range(1, args.epochs + 1):
    model.train()
    order = torch.randperm(train_x.size(0)).type(LongTensor)
    for b in range(train_x.size(0) // args.batch_size):
        index = order.narrow(0, b * args.batch_size, args.batch_size)
        x, y = Variable(train_x[index]), Variable(train_y[index], requires_grad=False)
        optimizer.zero_grad()
        loss = F.nll_loss(model(x), y)
        penalty = Variable(FloatTensor([0]))
        for p in model.parameters():
            penalty = penalty + p.pow(2).sum() * 1e-4
        (loss + penalty).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5)
        optimizer.step()
        for k, v in model.named_parameters():
            averages[k].mul_(0.9).add_(0.1 * v.data)
        if b % 4 == 0:
            print(
                "epoch {} batch {:2d}\tloss: {:.5f}\tpenalty: {:.5f}".format(
                    epoch, b, loss.data.item(), penalty.data.cpu().numpy()[0]
                )
            )

    # the averaged weights are tested, then the trained ones come back
    model.eval()
    trained = dict((k, v.data.clone()) for k, v in model.named_parameters())
    for k, v in model.named_parameters():
        v.data.copy_(averages[k])
    output = model(Variable(test_x))
    test_loss = F.nll_loss(output, Variable(test_y), size_average=False).data.item() / test_x.size(
        0
    )
    best = output.data.max(1, keepdim=True)[1]
    correct = best.eq(test_y.view_as(best)).cpu().sum()
    print(
        "test loss: {:.4f}, right: {}/{} ({:.0f}%)\n".format(
            test_loss, correct, test_x.size(0), 100.0 * correct / test_x.size(0)
        )
    )
    for k, v in model.named_parameters():
        v.data = trained[k]

# criteria with their old switches, and what a Variable is
scores = Variable(torch.randn(3, 4).type(FloatTensor), requires_grad=True)
wanted = Variable(FloatTensor(3, 4).fill_(0.25))
squares, elements = nn.MSELoss(size_average=True), nn.BCELoss(reduce=False)
loss = squares(F.softmax(scores, dim=1), wanted) + elements(F.sigmoid(scores), wanted).mean()
loss.backward()
print(type(scores), scores.data.type(), isinstance(scores, Variable))
print(scores.grad.data.norm(), scores.data.new(2, 2).fill_(1).sum(), torch.is_tensor(scores.data))
print(
    torch.cat([scores.data, wanted.data], 0).size(), scores.data.tolist()[0][0] == scores.data[0, 0]
)
