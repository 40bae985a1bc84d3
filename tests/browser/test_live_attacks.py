"""The small form of the attacks, in a server of their own."""

from __future__ import annotations

import pytest

from attack import ATTACKS

pytestmark = pytest.mark.browser
TIMED = {"starve", "load", "classroom"}  # whose verdict is a time
ELSEWHERE = {"clear_cache", "uploads", "links"}  # what they try, test_live_sessions and test_live_uploads try, too


@pytest.mark.parametrize("name", sorted(ATTACKS.keys() - TIMED - ELSEWHERE))
def test_attack_does_no_harm(name: str) -> None:
    assert ATTACKS[name](True).harm == []
