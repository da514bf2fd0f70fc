"""The stages of a recipe around the reinforcement learning."""
