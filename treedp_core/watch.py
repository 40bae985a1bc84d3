"""Long work: the noise it draws from named streams, how it reports, and how it is stopped."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")


class Cancelled(Exception):
    """The run was stopped by its caller; nothing of it is kept."""


def _nobody(n: int) -> None:
    """Tell nobody."""


def _unused(_: object) -> None:
    """Take no notice."""


def _never() -> bool:
    return False


@dataclass(frozen=True, eq=False)
class Watch:
    """How a long run reports (`step(n)` after n more trials) and stops (`cancelled()`, asked before each chunk).

    Searches count hundredths of their work instead of trials, and ask before each evaluation. One whose answer can be
    used before it is the best shows it (`offer(answer)`) and goes on.
    """

    step: Callable[[int], None] = _nobody
    cancelled: Callable[[], bool] = _never
    offer: Callable[[Any], None] = _unused

    def check(self) -> None:
        """Raise `Cancelled` when the run is to stop."""
        if self.cancelled():
            raise Cancelled

    def one_more(self) -> None:
        """Report one step of a search, unless it is to stop.

        Raises
        ------
        Cancelled
        """
        self.check()
        self.step(1)

    def part(self, steps: int, of: int) -> Watch:
        """Return a watch that counts `of` steps as `steps` of these, for a part of the work.

        >>> done = []
        >>> part = Watch(done.append).part(2, of=6)
        >>> [part.step(n) for n in (1, 2, 3)], done
        ([None, None, None], [0, 1, 1])
        """
        seen = 0

        def step(n: int) -> None:
            nonlocal seen
            before, seen = seen, seen + n
            self.step(steps * seen // of - steps * before // of)

        return Watch(step, self.cancelled, self.offer)

    def over(self, items: Sequence[T], steps: int) -> Iterator[T]:
        """Go through items and report `steps` in all while they get done.

        >>> done = []
        >>> [letter for letter in Watch(done.append).over("abc", 10)], done
        (['a', 'b', 'c'], [3, 3, 4])
        """
        part = self.part(steps, of=len(items))
        for item in items:
            yield item
            part.step(1)


def generator(*entropy: int | str) -> np.random.Generator:
    """Return the seeded generator that all simulation noise comes from (SFC64, the fastest of numpy's).

    Different entropies are different streams: `SeedSequence` by itself fills up with zeros and cuts large numbers into
    words, so that (7, 5), (7, 5, 0) and (7 + 5 * 2**32,) would be one. The first is the name of what is drawn.

    >>> generator("noise", 7).random() == generator("noise", 7, 0).random()
    False
    """
    told = repr(tuple(one if isinstance(one, str) else int(one) for one in entropy))
    seed = int.from_bytes(hashlib.sha256(told.encode()).digest(), "big")
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
