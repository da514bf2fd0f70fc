"""The circuit before Redis: who may try, and when."""

from verifier_service.redis_link import Circuit


def test_a_circuit_opens_at_a_failure_and_lets_one_try_after_a_while() -> None:
    now = 100.0
    circuit = Circuit(5.0, clock=lambda: now)
    assert circuit.may_try()
    circuit.failed()
    assert not circuit.may_try()
    now = 104.9
    assert not circuit.may_try()
    now = 105.0
    assert circuit.may_try()
    assert not circuit.may_try()  # another one is trying
    circuit.succeeded()
    assert circuit.may_try()
    assert circuit.may_try()


def test_a_try_that_nobody_heard_the_end_of_does_not_keep_it_open_for_ever() -> None:
    now = 0.0
    circuit = Circuit(5.0, clock=lambda: now)
    circuit.failed()
    now = 5.0
    assert circuit.may_try()
    now = 10.0
    assert circuit.may_try()
