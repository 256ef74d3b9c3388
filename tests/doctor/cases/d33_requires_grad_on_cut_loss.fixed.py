import torch
import torch.nn as nn
import torch.nn.functional as F


class ScorePredictor(nn.Module):
    """Predicts one of five star ratings for a review vector."""

    def __init__(self, n_in=20):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 5))

    def forward(self, x):
        return self.body(x)


def rating_loss(logits, stars):
    predicted = logits.softmax(dim=1) @ torch.arange(5.0)
    return F.mse_loss(predicted, stars)


def train(model, reviews, stars, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        epoch_loss = 0.0
        for i in range(0, len(reviews), 25):
            logits = model(reviews[i:i + 25])
            loss = rating_loss(logits, stars[i:i + 25])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        print(f"epoch {epoch + 1}: loss {epoch_loss / 4:.4f}")


if __name__ == "__main__":
    torch.manual_seed(21)
    reviews = torch.randn(100, 20)
    stars = (reviews[:, 0] * 1.5 + 2).clamp(0, 4).round()
    train(ScorePredictor(), reviews, stars)
