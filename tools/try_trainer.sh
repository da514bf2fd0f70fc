#!/usr/bin/env bash
# Try an adapter inside the real trainer, which gets an environment of its own beside ours: too heavy for CI.
#
#   tools/try_trainer.sh verifiers      # 0.6 GB
#   tools/try_trainer.sh verl           # 1.9 GB: its reward loop in workers of ray
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:-verifiers}
case $name in
    verifiers) requirements=(verifiers==0.4.0) ;;
    verl) requirements=(torch==2.13.0 verl==0.9.1) ;;
    *) echo "no trainer \"$name\"; known: verifiers, verl" >&2; exit 2 ;;
esac

python=.venv-$name/bin/python
if [ ! -x "$python" ]; then python3 -m venv ".venv-$name"; fi
for requirement in "${requirements[@]}" .; do
    "$python" -m pip install --quiet --disable-pip-version-check "$requirement"
done

port=$(.venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
.venv/bin/verifier serve --port "$port" --workers 1 --log-level warning &
service=$!
trap 'kill $service' EXIT
until .venv/bin/python -c "import httpx; httpx.get('http://127.0.0.1:$port/readyz').raise_for_status()" 2>/dev/null; do
    kill -0 $service
done
VERIFIER_URL=http://127.0.0.1:$port "$python" "tests/integration/real_$name.py"
