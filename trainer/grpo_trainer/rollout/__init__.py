"""Where answers come from: engines that continue prompts, token ids in and token ids out."""

from grpo_trainer.rollout.engine import Answer, Engine, Finish, Group, RolloutError, Sampling

__all__ = ["Answer", "Engine", "Finish", "Group", "RolloutError", "Sampling"]
