import io

from rich.console import Console

from grpo_trainer.observe.live import LiveView, line_of, sparkline

METRICS = {"reward/mean": 0.5, "accuracy": 0.5, "policy/grad_norm": 1.25, "time/update": 3.0}


def test_a_file_gets_one_line_a_step() -> None:
    file = io.StringIO()
    with LiveView(Console(file=file, width=40)) as view:
        view.say("the verifier [bold]answers[/bold] again")
        view.step(1, 4, METRICS)
        view.step(2, 4, METRICS)
    lines = file.getvalue().splitlines()
    assert lines[0] == "the verifier [bold]answers[/bold] again"
    assert lines[1:] == [line_of(1, 4, METRICS), line_of(2, 4, METRICS)]
    assert lines[1] == "step 1/4  reward 0.5  accuracy 0.5  gradient norm 1.25"


def test_a_terminal_gets_a_panel_with_the_curve() -> None:
    file = io.StringIO()
    with LiveView(Console(file=file, width=90, force_terminal=True)) as view:
        for step in range(1, 5):
            view.step(step, 4, METRICS | {"reward/mean": step / 4})
    text = file.getvalue()
    assert "step 4 of 4" in text
    assert sparkline([0.25, 0.5, 0.75, 1.0]) in text


def test_a_sparkline_rises_with_its_values_and_fits() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert sparkline([]) == ""
    assert len(sparkline([float(n % 7) for n in range(1000)])) <= 60
