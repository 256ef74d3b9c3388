"""The commands of `retrograd`, one module each: `add` describes it to argparse, and it runs."""
