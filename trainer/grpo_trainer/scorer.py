"""The log-probabilities of given answers, as one forward pass of one module.

What shards a model or averages its gradients takes hold of a module's forward pass, so everything of the model
that an update uses has to happen inside this one.
"""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from grpo_trainer.config import TrainConfig
from grpo_trainer.objective import token_scores

HEAD_TOLERANCE = 1e-3


class PolicyError(ValueError):
    """A model that cannot be trained as it is; the message says why."""


class Scorer(torch.nn.Module):
    """Scores the answers of a causal language model.

    The head runs over answer tokens alone, a chunk of them at a time, and its logits are computed again in the
    backward pass: all of them together would be by far the largest tensor of a run.
    """

    def __init__(self, model: Any, config: TrainConfig) -> None:
        super().__init__()
        self.model = model
        self._chunk = config.model.head_chunk
        self._temperature = config.sampling.temperature
        # Where the weights are sharded, they are gathered in half precision, and nothing is left to cast.
        self._casts = config.model.precision == "bfloat16" and config.distributed.engine != "fsdp"

    def forward(
        self, ids_BL: Tensor, predictors_BL: Tensor, targets_N: Tensor, entropy: bool
    ) -> tuple[Tensor, ...]:
        """logprobs_N at the sampling temperature, and entropy_N (nats) if wanted, of all answer tokens in turn.

        ids_BL: prompts and answers, padded on the right.  predictors_BL: bool, columns that predict an answer's
        token, N of them.  targets_N: those tokens.
        """
        with self._precision(ids_BL.device):
            hidden_NH = self._hidden(ids_BL)[predictors_BL]
            parts = [
                self._head(hidden_nH, targets_n, entropy)
                for hidden_nH, targets_n in zip(
                    torch.split(hidden_NH, self._chunk), torch.split(targets_N, self._chunk), strict=True
                )
            ]
        return tuple(torch.cat(column) for column in zip(*parts, strict=True))

    def _precision(self, device: torch.device) -> AbstractContextManager[Any]:
        return torch.autocast(device.type, torch.bfloat16) if self._casts else nullcontext()

    def _hidden(self, ids_BL: Tensor) -> Tensor:
        # No attention mask: padding stands on the right, and a causal model never looks there.
        positions_BL = torch.arange(ids_BL.shape[1], device=ids_BL.device).expand(ids_BL.shape)
        output = self.model.get_decoder()(input_ids=ids_BL, position_ids=positions_BL, use_cache=False)
        hidden_BLH: Tensor = output.last_hidden_state
        return hidden_BLH

    def _head(self, hidden_NH: Tensor, targets_N: Tensor, entropy: bool) -> tuple[Tensor, ...]:
        def scored(hidden_nH: Tensor) -> tuple[Tensor, ...]:
            logits_nV = self.model.get_output_embeddings()(hidden_nH)
            scores = token_scores(logits_nV, targets_N, temperature=self._temperature, entropy=entropy)
            if scores.entropy_BT is None:
                return (scores.logprobs_BT,)
            return (scores.logprobs_BT, scores.entropy_BT)

        if not torch.is_grad_enabled():
            return scored(hidden_NH)
        result: tuple[Tensor, ...] = checkpoint(scored, hidden_NH, use_reentrant=False)
        return result

    @torch.no_grad()
    def check_head(self) -> None:
        """Raises PolicyError for a model that scales or caps its logits after the head, unseen by this class."""
        device = next(self.model.parameters()).device
        ids_BL = torch.arange(4, device=device)[None] % int(self.model.config.vocab_size)
        with self._precision(device):
            whole = self.model(input_ids=ids_BL, use_cache=False).logits
            ours = self.model.get_output_embeddings()(self._hidden(ids_BL))
        gap = float((whole.float() - ours.float()).abs().max())
        if gap > HEAD_TOLERANCE * max(1.0, float(whole.float().abs().max())):
            name = type(self.model).__name__
            raise PolicyError(f"{name} changes its logits after the output head: this trainer does not")
