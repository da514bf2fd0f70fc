"""What the commands of `verifier` do, one module a command. cli.py only declares their options."""
