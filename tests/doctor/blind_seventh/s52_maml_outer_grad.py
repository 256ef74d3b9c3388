"""MAML for few-shot classification: the outer gradient is taken with respect to the meta model."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def episode(n_way, k_shot, k_query, dim=10):
    centers = 2 * torch.randn(n_way, dim)
    y_s = torch.arange(n_way).repeat_interleave(k_shot)
    y_q = torch.arange(n_way).repeat_interleave(k_query)
    x_s = centers[y_s] + 0.8 * torch.randn(len(y_s), dim)
    x_q = centers[y_q] + 0.8 * torch.randn(len(y_q), dim)
    return x_s, y_s, x_q, y_q


def inner_loop(meta_model, x, y, lr, steps):
    learner = copy.deepcopy(meta_model)
    for _ in range(steps):
        loss = F.cross_entropy(learner(x), y)
        grads = torch.autograd.grad(loss, list(learner.parameters()))
        with torch.no_grad():
            for p, g in zip(learner.parameters(), grads):
                p -= lr * g
    return learner


def main(args):
    torch.manual_seed(args.seed)
    meta_model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, args.n_way))
    meta_params = list(meta_model.parameters())
    meta_opt = torch.optim.Adam(meta_params, lr=args.meta_lr)
    for it in range(args.iters):
        meta_grads = [torch.zeros_like(p) for p in meta_params]
        total = 0.0
        for _ in range(args.tasks):
            x_s, y_s, x_q, y_q = episode(args.n_way, 3, 5)
            learner = inner_loop(meta_model, x_s, y_s, args.inner_lr, args.inner_steps)
            query_loss = F.cross_entropy(learner(x_q), y_q)
            grads = torch.autograd.grad(query_loss, meta_params)
            for acc, g in zip(meta_grads, grads):
                acc.add_(g, alpha=1 / args.tasks)
            total += query_loss.item() / args.tasks
        for p, g in zip(meta_params, meta_grads):
            p.grad = g
        meta_opt.step()
        if it % 10 == 0:
            print(f"iteration {it}: query loss {total:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--n_way", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--iters", type=int, default=30)
    parser.add_argument("--inner_steps", type=int, default=3)
    parser.add_argument("--inner_lr", type=float, default=0.1)
    parser.add_argument("--meta_lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    main(parser.parse_args([]))
