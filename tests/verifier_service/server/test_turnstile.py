import asyncio

from verifier_service.server.turnstile import BYTES_IN_A_ROW, Turnstile

LARGE = BYTES_IN_A_ROW + 1


def passages(*sizes: int) -> list[str]:
    """In which order bodies get through, and a probe that comes right behind the first of them."""
    order: list[str] = []

    async def body(turnstile: Turnstile, name: str, size: int) -> None:
        await turnstile.pass_through(size)
        order.append(name)

    async def probe() -> None:
        order.append("probe")

    async def run() -> None:
        turnstile = Turnstile()
        tasks = [asyncio.create_task(body(turnstile, f"{at}", size)) for at, size in enumerate(sizes)]
        tasks.append(asyncio.create_task(probe()))
        await asyncio.gather(*tasks)

    asyncio.run(run())
    return order


def test_large_bodies_keep_their_order_and_let_a_probe_through_before_them() -> None:
    assert passages(LARGE, LARGE, LARGE) == ["probe", "0", "1", "2"]


def test_small_bodies_go_through_in_a_row() -> None:
    assert passages(100, 100, 100) == ["0", "1", "2", "probe"]
