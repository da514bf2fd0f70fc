"""One small file per RL trainer: the function or class that the trainer wants, asking the service.

| trainer | file | where there is no verdict |
|---|---|---|
| TRL, Unsloth, axolotl | `for_trl` | None: left out of the loss |
| verl | `for_verl` | 0.0, and `verifier_error` 1.0 beside it |
| OpenRLHF | `for_openrlhf` | 0.0, and `verifier_error` 1.0 in its logs |
| slime, miles | `for_slime` | raises `NoVerdict` |
| ms-swift | `for_ms_swift` | None: left out |
| EasyR1 | `for_easyr1` | 0.0, and `verifier_error` 1.0 beside it |
| AReaL | `for_areal` | 0.0, counted and logged |
| verifiers, prime-rl | `for_verifiers` | raises `NoVerdict`; the older `legacy_reward`: 0.0, counted and logged |
| SkyRL | `for_skyrl` | 0.0, and `verifier_error` 1.0 in its metrics |
| NeMo RL | `for_nemo_rl` | raises `NoVerdict` |
| rLLM | `for_rllm` | raises `NoVerdict`; the older `legacy_reward`: raises too |
| open-instruct | `for_open_instruct` | raises `NoVerdict` |
| tinker-cookbook | `for_tinker_cookbook` | raises `NoVerdict` |
| torchforge | `for_torchforge` | raises `NoVerdict` |
| torchtune | `for_torchtune` | raises `NoVerdict` |

Every adapter takes the same options (`common.Remote`): `url` and `api_key`, else VERIFIER_URL and
VERIFIER_API_KEY; `profile`; `on_no_verdict`, which is "raise", None or a number, where the trainer can
take it; `budget_s`, how long it may take to get an answer; `max_error_rate`, the share of items without a
verdict beyond which the run is stopped with `TooManyErrors`. A number stands in for a verdict only where
it is declared here, and is counted and logged each time. A request that can never succeed, such as one
with a wrong key or an unknown profile, always raises.

Nothing here imports a trainer before that trainer calls. docs/integrations.md has a line of configuration
for each.
"""
