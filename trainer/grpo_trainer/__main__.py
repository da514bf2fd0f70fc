"""`python -m grpo_trainer` is `grpo`."""

from grpo_trainer.cli import app

app()
