"""What a run is: frozen, typed, read from TOML and the command line (grpo_trainer.loading).

An unknown key is an error, and so are two options of which one would silently do nothing
(grpo_trainer.contradictions). Every option has a description: `grpo options` prints them.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from grpo_trainer.contradictions import contradictions
from verifier_service.schema import RulesPatch


def _nothing(value: object) -> object:
    """TOML has no null, so the word none stands for it where a number or text may be missing."""
    return None if value == "none" else value


NONE = BeforeValidator(_nothing)
Natural = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
MaybeCount = Annotated[Count | None, NONE]
MaybeNotNegative = Annotated[NotNegative | None, NONE]
MaybePositive = Annotated[Positive | None, NONE]
MaybeShare = Annotated[Annotated[float, Field(gt=0, lt=1)] | None, NONE]
MaybeAboveOne = Annotated[Annotated[float, Field(gt=1)] | None, NONE]
MaybeText = Annotated[str | None, NONE]


class Section(BaseModel):
    """One table of the TOML file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True)


class ShapeConfig(Section):
    """Sizes of a dense transformer, for `grpo plan` where the checkpoint itself is not at hand."""

    layers: Count
    """transformer blocks"""
    hidden: Count
    """width of the residual stream"""
    intermediate: Count
    """width inside the feed-forward block (gated: three matrices)"""
    heads: Count
    """attention heads"""
    kv_heads: Count
    """key and value heads"""
    head_dim: MaybeCount = None
    """width of a head; none: hidden / heads"""
    vocab: Count
    """rows of the embedding"""
    tied: bool = False
    """the output head shares the embedding's weights"""
    qkv_bias: bool = False
    """biases on query, key and value (Qwen2)"""


class ModelConfig(Section):
    """The policy."""

    path: str = ""
    """checkpoint directory or hub name to start from"""
    precision: Literal["bfloat16", "float32", "float64"] = "bfloat16"
    """type of forward and backward; with bfloat16, weights and optimizer stay in float32"""
    gradient_checkpointing: bool = False
    """recompute activations in the backward pass: less memory, about a third more time"""
    head_chunk: Count = 1024
    """tokens whose logits exist at once; full-vocabulary logits are the memory peak"""
    shape: ShapeConfig | None = None
    """sizes of the model, for grpo plan alone"""


class DataConfig(Section):
    """The questions."""

    train: str = ""
    """FILE.jsonl, FILE.parquet, or hf:OWNER/NAME?split=train&config=NAME for a hub data set"""
    prompt_field: MaybeText = None
    """column of the question; none: the usual names are tried"""
    gold_field: MaybeText = None
    """column of the right answer; none: the usual names are tried"""
    language: MaybeText = None
    """language the thinking should be in (en, zh, ...), for profiles that reward it"""
    shuffle: bool = True
    """a new order, drawn from the seed, in every pass over the data"""
    limit: MaybeCount = None
    """use only the first so many questions"""
    max_prompt_tokens: Count = 1024
    """longer prompts are left out and counted"""
    bad_golds: Literal["drop", "stop"] = "drop"
    """golds that the verifier cannot judge: leave their questions out, or do not start"""


class TemplateConfig(Section):
    """How a question becomes a prompt."""

    kind: Literal["chat", "r1", "few-shot", "plain"] = "chat"
    """chat: the tokenizer's chat template; r1: the R1-Zero conversation for base models; few-shot:
    worked examples first; plain: the question as it is"""
    system: MaybeText = None
    """chat: system message"""
    instruction: MaybeText = None
    """chat and few-shot: text on a new line after the question"""
    examples: MaybeText = None
    """few-shot: JSONL of question and completion"""
    shots: MaybeCount = None
    """few-shot: how many of the examples; none: all"""
    prefill_think: bool = False
    """open <think> in the prompt. Chat templates that open it by themselves are recognised either way,
    and the verifier is told"""
    chat_options: dict[str, Any] = {}
    """chat: further variables of the chat template"""


class BatchConfig(Section):
    """How many answers, and how they are cut into optimizer steps. A step is one update of the weights."""

    answers_per_step: Annotated[int, Field(ge=2)]
    """answers behind one update; a multiple of group_size"""
    group_size: Annotated[int, Field(ge=2)]
    """answers to the same question (G)"""
    steps_per_rollout: Count = 1
    """updates that one round of sampling feeds, each from its own share of the answers"""
    passes: Count = 1
    """times a round of sampling is gone through before it is dropped"""
    micro_batch: Count = 8
    """answers in one forward and backward, at most; changes memory and speed, never the gradient"""

    @property
    def questions_per_step(self) -> int:
        return self.answers_per_step // self.group_size

    @property
    def answers_per_rollout(self) -> int:
        return self.answers_per_step * self.steps_per_rollout

    @property
    def questions_per_rollout(self) -> int:
        return self.questions_per_step * self.steps_per_rollout

    @property
    def steps_per_round(self) -> int:
        """Updates between two rounds of sampling."""
        return self.steps_per_rollout * self.passes


class LengthStep(Section):
    """From a step on, another limit of length."""

    from_step: Count
    """first step with this limit; rounds in progress keep the old one"""
    max_tokens: Count
    """tokens of an answer from then on"""


class SamplingConfig(Section):
    """How answers are drawn. Samplers that cut the distribution (top_p, top_k, min_p) do not exist here."""

    temperature: Positive = 1.0
    """divides the logits, in sampling and in training alike"""
    max_tokens: Count
    """tokens of an answer, at most"""
    length_schedule: tuple[LengthStep, ...] = ()
    """later limits, [{from_step, max_tokens}]"""
    batch: MaybeCount = None
    """answers generated at once; none: a whole round"""
    filter: Literal["none", "accuracy"] = "none"
    """accuracy: dynamic sampling; groups whose answers are all right or all wrong are replaced by
    further questions until the batch is full. Decided by accuracy alone, never by the shaped reward"""
    max_refills: MaybeCount = None
    """with filter: how many times the questions of a round may be added to it before the run stops"""
    truncated: Literal["score", "mask"] = "score"
    """answers cut off at max_tokens: scored like any other, or left out of the loss"""

    def limit_at(self, step: int) -> int:
        """Tokens of an answer, at most, at this step."""
        limits = [s.max_tokens for s in self.length_schedule if step >= s.from_step]
        return limits[-1] if limits else self.max_tokens

    @property
    def longest(self) -> int:
        return max(self.max_tokens, *(s.max_tokens for s in self.length_schedule), 0)


class RewardConfig(Section):
    """The verifier service."""

    url: MaybeText = None
    """base URL of the service; none: the variable VERIFIER_URL"""
    profile: str = "r1-zero"
    """which rewards with what weights: a profile of the service"""
    rules: RulesPatch = RulesPatch()
    """changes to the profile's rules, as the service names them"""
    timeout_s: Positive = 60.0
    """for one request; above the service's own budget of 10 s"""
    outage_s: NotNegative = 3600.0
    """how long the run waits for an unreachable service before it stops"""
    in_flight: Count = 8
    """groups being scored at once while generation goes on"""
    on_engine_change: Literal["stop", "continue"] = "stop"
    """the service comes back with other code: rewards before and after may differ"""


class AdvantageConfig(Section):
    """How an answer is compared with its group (docs/arithmetic.md)."""

    scale: Literal["population", "sample", "batch", "none"] = "population"
    """std the difference is divided by: divisor G, G - 1, of the batch, or not at all"""
    baseline: Literal["mean", "leave_one_out"] = "mean"
    """what is subtracted"""
    eps: NotNegative = 0.0
    """added to the std; for comparison with other trainers"""


class LossConfig(Section):
    """The surrogate and how tokens are averaged (docs/arithmetic.md)."""

    aggregation: Literal["sequence", "token", "constant"]
    """sequence: mean of each answer, then of the answers; token: mean of all tokens; constant: sum over
    answers x length. It decides how much long answers weigh, so it has no default"""
    length: MaybePositive = None
    """constant: the length divided by, commonly max_tokens"""
    ratio: Literal["token", "sequence", "sequence_mean"] = "token"
    """ratio of a token, of the answer (R1), or the geometric mean of its tokens (GSPO)"""
    surrogate: Literal["clip", "cispo"] = "clip"
    """clip the ratio, or only its weight (CISPO)"""
    clip_low: NotNegative = 0.2
    """the ratio is clipped below 1 - clip_low"""
    clip_high: NotNegative = 0.2
    """and above 1 + clip_high"""
    dual_clip: MaybeAboveOne = None
    """bounds the loss of wrong tokens at so many |A|"""
    entropy_coef: float = 0.0
    """weight of an entropy bonus"""


class KlConfig(Section):
    """The distance to the reference model."""

    beta: NotNegative = 0.0
    """weight of the KL; 0: none, and no reference model in memory"""
    estimator: Literal["k1", "k2", "k3", "k3+"] = "k3"
    """see docs/arithmetic.md; k1 belongs into the reward, as a loss it pulls nowhere"""
    place: Literal["loss", "reward"] = "loss"
    """GRPO has it in the loss, PPO in the reward"""
    times_ratio: bool = False
    """multiply by the ratio: unbiased off policy too"""


class ReferenceConfig(Section):
    """The model the KL is measured from."""

    update: Literal["none", "fixed", "replace", "ema"] = "none"
    """no reference; the start; replaced by the policy; moved towards the policy"""
    every: MaybeCount = None
    """replace, ema: steps between two updates"""
    alpha: MaybeShare = None
    """ema: share of the way to the policy"""


class OptimizerConfig(Section):
    """AdamW and its schedule."""

    lr: Positive
    """learning rate after warm-up"""
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    """constant, or down to 0 at the last step"""
    warmup_steps: Natural = 0
    """steps of linear rise to lr"""
    beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """decay of the first moment"""
    beta2: Annotated[float, Field(ge=0, lt=1)] = 0.999
    """decay of the second moment"""
    eps: Positive = 1e-8
    """added to the root of the second moment"""
    weight_decay: NotNegative = 0.0
    """decoupled weight decay"""
    max_grad_norm: MaybePositive = 1.0
    """the gradient is scaled down to this norm; none: never"""


class RolloutConfig(Section):
    """The engine that draws answers (docs/training.md)."""

    engine: Literal["transformers", "vllm", "vllm-server"] = "transformers"
    """transformers: on the policy itself; vllm: vLLM in this process; vllm-server: vLLM servers over HTTP"""
    servers: tuple[str, ...] = ()
    """vllm-server: their base URLs, ["http://gpu1:8001", ...]; `grpo plan` prints how to start one"""
    weights: MaybeText = None
    """vllm, vllm-server: folder through which weights pass, seen by every server under this very path;
    none: output/weights. A RAM disk is fastest"""
    gpu_memory: Annotated[float, Field(gt=0, lt=1)] = 0.4
    """vllm: share of the GPU's memory for the engine's weights and cache"""
    sleep: Literal[0, 1, 2] = 0
    """vllm: what the engine gives back while the policy is updated. 0: nothing; 1: its cache, and its
    weights to the host's memory; 2: both altogether"""
    staleness: Literal[0, 1] = 0
    """1: the next round is drawn while this one is learned from, with weights that are one round old"""
    timeout_s: Positive = 1800.0
    """vllm-server: for one request, all answers to a question included"""
    sync_timeout_s: Positive = 600.0
    """vllm, vllm-server: for one transfer of the weights"""
    silence_s: Positive = 120.0
    """an engine without a sign of life is given up after so long: a token (vllm), or a reply to a health
    check (vllm-server)"""
    outage_s: NotNegative = 600.0
    """vllm-server: how long the run waits while no server answers, before it stops"""
    probe: Natural = 8
    """vllm, vllm-server: answers drawn after each transfer to compare log-probabilities; 0: none"""
    probe_gap: MaybePositive = None
    """the difference that raises the alarm, in nats; none: 1e-3 at any token in float32, 0.1 on average in
    bfloat16"""
    on_gap: Literal["stop", "continue"] = "stop"
    """what the alarm does: end the run, or say so and go on"""


class CorrectionConfig(Section):
    """Truncated importance sampling, where the engine that samples is not the one that trains."""

    level: Literal["auto", "none", "token", "sequence"] = "auto"
    """weight of a token, or of an answer; auto: of a token, where vLLM samples or rollout.staleness is 1"""
    low: MaybeNotNegative = None
    """lower bound of the weight; none: 0"""
    high: MaybePositive = None
    """upper bound of the weight; auto: 2 where none is given"""
    outside: Literal["truncate", "drop"] = "truncate"
    """weights outside: moved to the bound, or set to 0"""


class LoraConfig(Section):
    """Low-rank adapters: the checkpoint's weights stay as they are, and small matrices beside them learn."""

    rank: MaybeCount = None
    """width of the adapters; none: all weights learn"""
    alpha: Positive = 32.0
    """an adapter's output is scaled by alpha / rank"""
    targets: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
    """which linear layers get one, by the last part of their names"""


class DistributedConfig(Section):
    """Several processes, one per accelerator, started by torchrun (docs/scaling-training.md)."""

    engine: Literal["none", "ddp", "fsdp"] = "none"
    """none: one process; ddp: a whole model in each; fsdp: weights, gradients and optimizer in shards"""
    world_size: MaybeCount = None
    """how many processes there have to be; none: as many as the launcher has started, two at least"""
    timeout_s: Positive = 7200.0
    """how long processes wait for one another before the run stops; above reward.outage_s,
    rollout.outage_s and rollout.sync_timeout_s"""


class LogConfig(Section):
    """What a run writes beside its checkpoints."""

    tensorboard: bool = True
    """TensorBoard files beside the JSONL"""
    completions: Natural = 4
    """answers written out in full at each round of sampling"""


class CheckpointConfig(Section):
    """Checkpoints that resume with the same data order."""

    every: MaybeCount = None
    """steps between two checkpoints; none: only the last"""
    keep: Count = 2
    """how many stay on disk"""


class TrainConfig(Section):
    """One training run."""

    steps: Count
    """updates of the weights; a multiple of those that one round feeds"""
    seed: Natural = 0
    """of data order, sampling and initialisation"""
    output: str = "runs/grpo"
    """folder of metrics, checkpoints and the report"""
    model: ModelConfig = ModelConfig()
    """the policy"""
    data: DataConfig = DataConfig()
    """the questions"""
    template: TemplateConfig = TemplateConfig()
    """how a question becomes a prompt"""
    batch: BatchConfig
    """how many answers, and how they are cut into steps"""
    sampling: SamplingConfig
    """how answers are drawn"""
    reward: RewardConfig = RewardConfig()
    """the verifier service"""
    advantage: AdvantageConfig = AdvantageConfig()
    """how an answer is compared with its group"""
    loss: LossConfig
    """the surrogate and how tokens are averaged"""
    kl: KlConfig = KlConfig()
    """the distance to the reference model"""
    reference: ReferenceConfig = ReferenceConfig()
    """the model the KL is measured from"""
    optimizer: OptimizerConfig
    """AdamW and its schedule"""
    rollout: RolloutConfig = RolloutConfig()
    """the engine that draws answers"""
    correction: CorrectionConfig = CorrectionConfig()
    """truncated importance sampling"""
    lora: LoraConfig = LoraConfig()
    """low-rank adapters"""
    distributed: DistributedConfig = DistributedConfig()
    """several processes"""
    log: LogConfig = LogConfig()
    """what a run writes"""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """checkpoints"""

    @model_validator(mode="after")
    def _holds_together(self) -> Self:
        if problems := contradictions(self):
            raise ValueError("\n".join(problems))
        return self

    @property
    def correction_level(self) -> Literal["none", "token", "sequence"]:
        """The level of the correction, with auto decided."""
        if self.correction.level != "auto":
            return self.correction.level
        return "token" if self.rollout.engine != "transformers" or self.rollout.staleness else "none"

    @property
    def rounds(self) -> int:
        """Rounds of sampling in the run."""
        return self.steps // self.batch.steps_per_round
