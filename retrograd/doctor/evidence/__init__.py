"""What a watched run shows: which call released what, what was carried, who holds it."""
