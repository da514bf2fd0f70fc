"""What decoding alone costs: pydantic on the bodies of one seed, each decoded once, in a fresh process.

python benchmarks/decoding.py SEED BODIES ITEMS SAMPLES
"""

import json
import sys
import time

from bodies import Maker, body

from verifier_service.schema import ScoreRequest


def main(seed: int, bodies: int, items: int, samples: int) -> None:
    maker = Maker(seed, samples=samples)
    made = [body(maker.batch(items)) for _ in range(bodies)]
    ScoreRequest.model_validate_json(b'{"items": [{"completion": "1", "gold": "1"}]}')
    walls: list[float] = []
    began = time.process_time()
    for one in made:
        started = time.perf_counter()
        ScoreRequest.model_validate_json(one)
        walls.append(time.perf_counter() - started)
    cpu = time.process_time() - began
    json.dump({"cpu_s": cpu, "body_s": sorted(walls)[len(walls) // 2], "bytes": len(made[0])}, sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
