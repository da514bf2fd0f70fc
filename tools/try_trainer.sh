#!/usr/bin/env bash
# Try an adapter inside the real trainer, which gets an environment of its own beside ours: too heavy for CI.
#
#   tools/try_trainer.sh verifiers      # 0.6 GB
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:-verifiers}
case $name in
    verifiers) requirement=verifiers==0.4.0 ;;
    *) echo "no trainer \"$name\"; known: verifiers" >&2; exit 2 ;;
esac

python=.venv-$name/bin/python
if [ ! -x "$python" ]; then python3 -m venv ".venv-$name"; fi
"$python" -m pip install --quiet --disable-pip-version-check "$requirement" .

port=$(.venv/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
.venv/bin/verifier serve --port "$port" --workers 1 --log-level warning &
service=$!
trap 'kill $service' EXIT
until .venv/bin/python -c "import httpx; httpx.get('http://127.0.0.1:$port/readyz').raise_for_status()" 2>/dev/null; do
    kill -0 $service
done
VERIFIER_URL=http://127.0.0.1:$port "$python" "tests/integration/real_$name.py"
