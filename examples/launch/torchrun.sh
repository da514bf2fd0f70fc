#!/usr/bin/env bash
# One machine, a process for each of its accelerators; or several machines, the same command on each of them.
#
#   examples/launch/torchrun.sh --config run.toml data.train=questions.jsonl
#   NODES=2 NODE=0 FIRST=node0.example examples/launch/torchrun.sh --config run.toml ...    (NODE=1 on the other)
#
# All words go to `grpo train`. VERIFIER_URL says where the judge is; the folder `output` and the checkpoint have to
# be seen by every machine under the same path.
set -euo pipefail

per_node=${PER_NODE:-$({ nvidia-smi --list-gpus 2>/dev/null || true; } | wc -l)}
nodes=${NODES:-1}
[ "$per_node" -gt 0 ] || { echo "no accelerator found: PER_NODE=2 starts two processes on the CPU" >&2; exit 2; }

if [ "$nodes" = 1 ]; then
    rendezvous=(--standalone)
else
    rendezvous=(--node_rank="${NODE:?number of this machine, from 0}"
        --master_addr="${FIRST:?address of the first machine}" --master_port="${PORT:-29500}")
fi

# The last word of each option counts, so yours go over these.
exec torchrun --nnodes="$nodes" --nproc_per_node="$per_node" "${rendezvous[@]}" -m grpo_trainer train \
    distributed.engine=fsdp distributed.world_size=$((nodes * per_node)) "$@"
