"""Properties that are computed once, without a lock."""

from __future__ import annotations

from threading import Event, Thread

from monolip.cached import cached_property


class Slow:
    def __init__(self) -> None:
        self.calls, self.begun, self.go_on = 0, Event(), Event()

    @cached_property
    def answer(self) -> list[int]:
        """What was asked."""
        self.calls += 1
        self.begun.set()
        self.go_on.wait(10)
        return [self.calls]


def test_it_is_computed_once_and_may_be_forgotten():
    slow = Slow()
    slow.go_on.set()
    assert slow.answer is slow.answer
    assert slow.calls == 1
    del slow.answer
    assert slow.answer == [2]
    assert Slow.answer.__doc__ == "What was asked."


def test_nobody_waits_for_another_instance_and_all_see_the_same():
    """A lock, as functools has one before Python 3.12, would be held for ever in a process that is forked meanwhile."""
    one, other, seen = Slow(), Slow(), []
    thread = Thread(target=lambda: seen.append(one.answer))
    thread.start()
    assert one.begun.wait(10)
    other.go_on.set()
    quick = Thread(target=lambda: seen.append(other.answer), daemon=True)
    quick.start()
    quick.join(5)
    assert seen == [[1]]
    one.go_on.set()
    thread.join()
    assert one.answer is seen[1]
