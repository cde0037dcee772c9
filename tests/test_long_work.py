"""Whoever waits is told what is being done."""

import io

from goalward.long_work import FIRST_SECONDS, SECONDS_BETWEEN, Phase, Speaker, advance, counted, current, hushed, phase


def test_phases_nest_and_end() -> None:
    with phase("whole", 4, "parts") as whole, phase("part", second_unit="steps"):
        whole.advance(1)
        advance("part", 0, 1_000)
        advance("another", 7)
        said = current(whole.began + 5.0)
    assert said == "whole: 1 of 4 parts, about 15 s left; part: 1,000 steps"
    assert current() == ""


def test_an_estimate_needs_something_done() -> None:
    assert Phase("learning", 10, "episodes", began=0.0).line(60.0) == "learning: 0 of 10 episodes"


def test_counted_declares_how_far_it_is() -> None:
    seen = [(item, current(0.0).partition(",")[0]) for item in counted("reading", "files", "ab", 2)]
    assert seen == [("a", "reading: 0 of 2 files"), ("b", "reading: 1 of 2 files")]


def test_the_speaker_waits_and_then_speaks_now_and_then() -> None:
    stream = io.StringIO()
    speaker = Speaker(stream, 100.0)
    with phase("one\x1bthing"):
        for now in (100.0, 100.0 + FIRST_SECONDS, 100.5 + FIRST_SECONDS, 100.0 + FIRST_SECONDS + SECONDS_BETWEEN):
            speaker.look(now)
        assert stream.getvalue() == "one\\x1bthing (2.0 s)\none\\x1bthing (12 s)\n"
        with hushed():
            speaker.look(1_000.0)
        speaker.look(1_000.0 + FIRST_SECONDS)
    speaker.look(2_000.0)
    assert len(stream.getvalue().splitlines()) == 3
