"""Downloads of many sessions at once: every address is unlike any other, and holds its own session's numbers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from browsing import live_server
from tabs import Tab

from .verdict import Verdict

LEAVES = 1_000


def downloads(short: bool) -> Verdict:
    """Sessions with tables that differ in one cell press Download again and again, at the same time."""
    sessions, presses = (3, 4) if short else (10, 20)
    verdict = Verdict()
    with live_server() as server, ThreadPoolExecutor(sessions) as people:
        answers = list(people.map(lambda own: _session(server.url, own, presses), range(sessions)))
    addresses = [address for found in answers for address, _ in found]
    mixed = sum(right is False for found in answers for _, right in found)
    verdict.tell(
        f"{len(addresses)} downloads of {sessions} sessions, {len(set(addresses))} addresses, {mixed} mixed up"
    )
    verdict.hold(len(addresses) == sessions * presses, f"only {len(addresses)} downloads came")
    verdict.hold(mixed == 0, f"{mixed} downloads did not hold their own session's numbers")
    owners = {address: own for own, found in enumerate(answers) for address, _ in found}
    shared = sum(owners[address] != own for own, found in enumerate(answers) for address, _ in found)
    verdict.hold(shared == 0, f"{shared} addresses served two sessions")
    return verdict


def _session(url: str, own: int, presses: int) -> list[tuple[str, bool]]:
    rows = "".join(f"{leaf:04d},{100 + own if leaf == LEAVES // 3 else 5}\n" for leaf in range(LEAVES))
    found = []
    with Tab(url, "data", "source=upload") as tab:
        tab.count("same.csv", f"region,people\n{rows}".encode(), ["region"], "people")
        for _ in range(presses):
            address = tab.download_address("tree_0_csv")
            answer = tab.fetch(address)
            found.append((address, answer.ok and f"{LEAVES // 3:04d},{100 + own}" in answer.text.replace('"', "")))
    return found
