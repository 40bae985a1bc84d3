"""A class: who comes in, what is counted of guesses and what is not kept, and when all is forgotten."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.responses import Response

from oracles_pages import answer, open_page, press, widget, words
from pages.ui.server import classroom
from pages.ui.server.admission import MINUTE, MOST_ADDRESSES, WORDS, WRONG_A_MINUTE, Door, bucket, seat_of
from pages.ui.server.classroom import LONGEST_SECONDS, MOST_GUESSES, Guesses
from pages.ui.session import uploads
from pages.views.lesson import view
from treedp_core import cli
from treedp_core.checks import InputError
from treedp_core.figures.lesson import of_class
from treedp_core.studies.lesson import STEPS, bars, hands, mark, said_of_hands


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


# --- what is counted -------------------------------------------------------------------------------------------------


def test_a_guess_is_counted_once_and_replaced_when_it_changes(clock: Clock) -> None:
    room = Guesses(clock)
    assert room.count("noise", 2.0, "a") and room.count("noise", 2.0, "b") and room.count("who", 1, "a")
    assert room.count("noise", 2.83, "a") and room.has("noise", "a") and not room.has("who", "b")
    assert room.of("noise") == {2.0: 1, 2.83: 1} and room.of("who") == {1.0: 1} and room.number("noise") == 2


def _kept(room: Guesses) -> dict[str, Any]:
    return {name: value for name, value in vars(room).items() if name not in ("_lock", "_now", "_key")}


def test_nothing_but_numbers_and_how_often_is_kept(clock: Clock) -> None:
    """In whichever order and by whomever: two classes with equal counts are the same, byte for byte, once revealed."""
    one, two = Guesses(clock), Guesses(clock)
    for room, values in ((one, (3.0, 2.0, 3.0, 7.123456789)), (two, (7.12345999, 3.0, 3.0, 2.0))):
        for number, value in enumerate(values):
            room.count("noise", value, f"seat {number}")
            room.count("who", value, f"seat {number}")
        held = _kept(room)["_held"]
        assert set(_kept(room)) == {"_begun", "_has_ended", "_held", "_shown"} and _kept(room)["_shown"] == {}
        assert list(held["noise"]) == sorted(held["noise"]), "not in the order in which they came"
        assert not held["noise"].keys() & held["who"].keys(), "what one said at two steps stands under two numbers"
        assert b"seat" not in pickle.dumps(held) and room.of("noise") == {2.0: 1, 3.0: 2, 7.12346: 1}
        room.show("noise")
        assert set(_kept(room)["_held"]) == {"who"}
        room.show("who")
    assert pickle.dumps(sorted(_kept(one)["_shown"]["noise"].items())) == pickle.dumps(
        sorted(_kept(two)["_shown"]["noise"].items())
    )
    assert _kept(one) == _kept(two) and _kept(one)["_held"] == {}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e13])
def test_what_is_no_guess_is_not_counted(clock: Clock, value: float) -> None:
    room = Guesses(clock)
    assert not room.count("noise", value, "a") and room.number("noise") == 0


def test_guesses_are_bounded(clock: Clock) -> None:
    room = Guesses(clock)
    assert sum(room.count("noise", n, f"{n}") for n in range(MOST_GUESSES + 50)) == MOST_GUESSES == room.number("noise")
    assert room.count("noise", -1.0, "0"), "who is counted may still change"
    assert sum(room.count(f"step {n}", 1.0, "a") for n in range(1000)) < 20


def test_nothing_is_counted_once_it_is_shown(clock: Clock) -> None:
    room = Guesses(clock)
    room.count("noise", 2.0, "a")
    room.show("noise")
    assert room.is_shown("noise") and not room.count("noise", 3.0, "b") and not room.count("noise", 3.0, "a")
    assert room.of("noise") == {2.0: 1} and room.number("noise") == 1 and room.count("who", 1.0, "a")


def test_a_class_is_forgotten_when_it_ends_and_three_hours_after_the_first_came_in(clock: Clock) -> None:
    room, ended = Guesses(clock), Guesses(clock)
    clock.now += 10 * LONGEST_SECONDS  # nobody is there yet
    assert not room.is_over and room.minutes_left() == 180
    room.begin()
    clock.now += LONGEST_SECONDS / 2
    room.begin()
    for one in (room, ended):
        one.count("noise", 2.0, "a")
        one.count("who", 2.0, "a")
        one.show("noise")
    clock.now += LONGEST_SECONDS / 2 - 1
    assert not room.is_over and room.minutes_left() == 1
    clock.now += 1
    ended.end()
    for one in (room, ended):
        assert one.is_over and one.of("noise") == {} and one.number("noise") == 0 and not one.is_shown("noise")
        assert vars(one)["_held"] == {} == vars(one)["_shown"]
        assert not one.count("noise", 2.0, "b")


@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.parametrize("write", [lambda room: room.count("noise", 3.0, "b"), lambda room: room.show("noise")])
def test_nothing_is_kept_of_what_was_under_way_when_the_class_ended(
    write: Callable[[Guesses], object], turn: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The class ends while somebody waits for the lock: at the first turn, or at a second one if there is any."""
    room = Guesses(clock)
    room.count("noise", 2.0, "a")

    class Lock:
        held = turns = 0

        def __enter__(self) -> None:
            self.held, self.turns = self.held + 1, self.turns + (self.held == 0)
            if self.held == 1 and self.turns == turn:
                room._forget()

        def __exit__(self, *_: object) -> None:
            self.held -= 1

    monkeypatch.setattr(room, "_lock", Lock())
    write(room)
    assert not (room._has_ended and (room._held or room._shown))


def test_the_clock_of_sessions_forgets_a_class_though_nobody_looks(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, door = Guesses(clock), Door(clock)
    monkeypatch.setattr(classroom, "guesses", lambda: room)
    monkeypatch.setattr(classroom, "door", lambda: door)
    room.begin()
    room.count("noise", 2.0, "a")
    assert not classroom.sweep()  # no class
    monkeypatch.setenv(cli.CLASS_VARIABLE, "1")
    assert not classroom.sweep()
    clock.now += LONGEST_SECONDS
    assert classroom.sweep() and vars(room)["_held"] == {} and not classroom.sweep()


# --- who comes in ----------------------------------------------------------------------------------------------------

Ask = Callable[..., tuple[Response | None, list[int]]]


@pytest.fixture
def ask(clock: Clock) -> Ask:
    """Ask a door, and say how often somebody has come in."""
    came: list[int] = []

    def asked(
        door: Door,
        query: str = "",
        *,
        cookie: str = "",
        path: str = "/",
        client: str = "192.0.2.7",
        is_over: bool = False,
    ) -> tuple[Response | None, list[int]]:
        scope = {
            "type": "http",
            "path": path,
            "query_string": query.encode(),
            "client": (client, 5),
            "server": ("", 80),
        }
        headers = Headers({"cookie": f"treedp_class_80={cookie}"} if cookie else {})
        return door.answer(scope, headers, is_over, lambda: came.append(1)), came

    return asked


def test_the_word_opens_and_is_gone_from_the_address(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    first, second, number = door.word.split("-")
    for said in (door.word, f"{first}+{second.upper()}+{number}", f"+{first}{second}{number}+"):
        let, _ = ask(door, f"class={said}&step=who")
        assert let is not None and let.status_code == 303 and let.headers["location"] == "/lesson?step=who"
        cookie = let.headers["set-cookie"]
        assert "HttpOnly" in cookie and door.word not in cookie and door.student in cookie
    assert ask(door, cookie=door.student)[0] is None
    assert len(ask(door, cookie=door.student)[1]) == 3


def test_each_browser_has_a_random_seat_that_it_keeps(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    lets = [ask(door, f"class={door.word}")[0] for _ in range(20)]
    cookies = [one.headers["set-cookie"].partition(";")[0].partition("=")[2] for one in lets if one is not None]
    assert len({seat_of(one) for one in cookies}) == 20 and {door.role(one) for one in cookies} == {"student"}
    again, _ = ask(door, f"class={door.word}", cookie=cookies[0])
    assert again is not None and "set-cookie" not in again.headers
    assert door.role(f"{door.teacher}.x") == door.role(f"{door.student[:-1]}.x") == "" == seat_of(door.teacher)


def test_no_address_leads_elsewhere(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    for path in ("//evil.example/x", "/\\evil.example"):
        there = ask(door, f"class={door.word}", path=path)[0]
        assert there is not None and there.headers["location"][1] not in "/\\"


def test_nobody_else_gets_anything(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    for query in ("", "step=who", "class=", "class=%FF%FE", f"class={'x' * 9999}", "teacher=", f"teacher={door.word}"):
        refused, came = ask(door, query)
        assert refused is not None and refused.status_code == 403 and not came
        assert door.word not in bytes(refused.body).decode() and "set-cookie" not in refused.headers
    assert ask(door, path="/_stcore/health")[0] is None
    assert ask(door, cookie=door.word)[0] is not None


def test_the_teachers_link_makes_a_teacher_whom_the_students_code_does_not_unmake(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    for cookie in ("", door.student):
        let, came = ask(door, f"teacher={door.teacher}", cookie=cookie)
        assert let is not None and door.teacher in let.headers["set-cookie"] and not came
    again, _ = ask(door, f"class={door.word}&step=who", cookie=door.teacher)
    assert again is not None and again.headers["location"] == "/lesson?step=who" and "set-cookie" not in again.headers
    assert (door.role(door.teacher), door.role(door.student), door.role("")) == ("teacher", "student", "")


def test_wrong_words_are_limited_by_the_minute_and_by_address(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    for _ in range(WRONG_A_MINUTE):
        assert ask(door, "class=wrong")[0].status_code == 403  # type: ignore[union-attr]
    for query in ("class=wrong", f"class={door.word}", f"teacher={door.teacher}"):
        waits = ask(door, query)[0]
        assert waits is not None and waits.status_code == 429, "also for the right one: else it would be told"
    assert ask(door, f"class={door.word}", client="192.0.2.8")[0].status_code == 303  # type: ignore[union-attr]
    clock.now += MINUTE
    assert ask(door, f"class={door.word}")[0].status_code == 303  # type: ignore[union-attr]
    door.forget()
    assert vars(door)["_wrong"] == {}


def test_addresses_are_bounded_and_a_network_of_ipv6_is_one() -> None:
    door = Door(Clock())
    for n in range(MOST_ADDRESSES + 10):
        door.tries("wrong", door.word, str(n))
    assert len(vars(door)["_wrong"]) == MOST_ADDRESSES

    def of(text: str) -> str:
        return bucket({"client": (text, 1)})

    assert of("2001:db8:1:2::1") == of("2001:db8:1:2:ffff::9") != of("2001:db8:1:3::1")
    assert of("::ffff:192.0.2.7") == of("192.0.2.7") and of("fe80::1%eth0") == of("fe80::2%eth1") and of("odd") == "odd"


def test_after_the_end_nobody_comes_in_and_who_is_there_stays(clock: Clock, ask: Ask) -> None:
    door = Door(clock)
    late, came = ask(door, f"class={door.word}", is_over=True)
    assert late is not None and late.status_code == 410 and not came
    assert ask(door, cookie=door.student, is_over=True)[0] is None


def test_each_start_has_secrets_of_its_own() -> None:
    doors = [Door() for _ in range(20)]
    assert len({one.word for one in doors} | {one.teacher for one in doors} | {one.student for one in doors}) == 60
    assert len(WORDS) == len(set(WORDS)) >= 190 and min(len(one.teacher) for one in doors) >= 32
    assert all(one.word.split("-")[0] in WORDS and 10 <= int(one.word.split("-")[2]) < 100 for one in doors)


# --- the command -----------------------------------------------------------------------------------------------------


def test_a_class_is_on_the_network_under_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "own_address", lambda: "192.0.2.55")
    env = cli.environment({}, classroom=True)
    assert env["STREAMLIT_SERVER_ADDRESS"] == "0.0.0.0" and env["STREAMLIT_BROWSER_SERVER_ADDRESS"] == "192.0.2.55"
    assert env["STREAMLIT_SERVER_ALLOWED_HOSTS"].split() == ["localhost", "127.0.0.1", "::1", "192.0.2.55"]
    behind_a_proxy = cli.environment({"STREAMLIT_SERVER_ADDRESS": "127.0.0.1"}, classroom=True)
    assert behind_a_proxy["STREAMLIT_SERVER_ADDRESS"] == "127.0.0.1"
    assert "STREAMLIT_SERVER_ALLOWED_HOSTS" not in behind_a_proxy and behind_a_proxy[cli.CLASS_VARIABLE] == "1"
    named = {"STREAMLIT_SERVER_ALLOWED_HOSTS": "school.example"}
    assert cli.environment(named, classroom=True).items() >= named.items()
    assert cli.CLASS_VARIABLE not in cli.environment({cli.CLASS_VARIABLE: "1"})


def test_a_class_and_a_public_app_take_no_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    file.touch()
    for given in ({"file": str(file)}, {"save": str(tmp_path / "b.treedp")}):
        with pytest.raises(InputError) as refused:
            cli.environment({}, **given, classroom=True)  # type: ignore[arg-type]
        assert refused.value.code == "CLASS_FILE"
        with pytest.raises(InputError, match="A public app opens no file and saves none") as refused:
            cli.environment({cli.PUBLIC_VARIABLE: "1"}, **given)  # type: ignore[arg-type]
        assert refused.value.code == "PUBLIC_FILE" and cli.environment({cli.PUBLIC_VARIABLE: "0"}, **given)  # type: ignore[arg-type]
    assert not uploads.is_public()
    monkeypatch.setenv(cli.CLASS_VARIABLE, "1")
    assert uploads.is_public()


def test_the_terminal_says_address_word_the_teachers_link_and_a_code(monkeypatch: pytest.MonkeyPatch) -> None:
    door = Door()
    monkeypatch.setattr(classroom, "door", lambda: door)
    where, word, teacher, code = classroom.told("http://192.0.2.55:8501/")
    assert "http://192.0.2.55:8501/ " in where and word.endswith(door.word)
    assert teacher.endswith(f" http://192.0.2.55:8501/lesson?teacher={door.teacher}")
    assert set(code) <= set("█▀▄ \n") and code.count("\n") > 10


# --- a show of hands -------------------------------------------------------------------------------------------------


def test_a_show_of_hands_is_read_as_teachers_write_it() -> None:
    for text in ("50: 12, 100: 3", "50:12,100:3", "100 % = 3; 50 %: 12", "50: 5\n100: 3 50: 7"):
        assert hands(text) == {50.0: 12, 100.0: 3}, text
    assert hands("2,8:4,3,1:5") == {2.8: 4, 3.1: 5}
    for text in ("", "50", "a: 3", "50: 0", "50: 12345", "50: 900, 60: 900", "50: 3: 4", "50 12"):
        with pytest.raises(InputError):
            hands(text)


@pytest.mark.parametrize("step", STEPS, ids=lambda one: one.name)
def test_a_histogram_has_every_guess_and_the_truth(step: Any) -> None:
    asked = step.predict
    wide = {asked.answer * (1 + n / 7): n for n in range(1, 40)} | {asked.answer: 5}
    few = {asked.answer: 2, **{one.value: n for n, one in enumerate(asked.wrong, 3)}}
    for counts in (few, wide, {}, {asked.wrong[0].value: 4}):
        shown = bars(step.name, counts)
        assert sum(one.number for one in shown) == sum(counts.values()) and len(shown) <= 11
        assert [one.number for one in shown if one.is_right] == [
            sum(n for guess, n in counts.items() if mark(asked, guess).is_right)
        ]
        fig = of_class(step.name, counts)
        drawn = [n for one in fig.data if one.type == "bar" for n in one.y if n is not None]
        assert sum(drawn) == sum(counts.values())
        assert asked.right in said_of_hands(step.name, counts)
    said = said_of_hands(step.name, few)
    most = max(
        asked.wrong, key=lambda one: sum(n for guess, n in few.items() if mark(asked, guess).said.endswith(one.why[1:]))
    )
    assert said.startswith(f"**2 of {sum(few.values())}** right") and most.why[1:] in said


# --- the page --------------------------------------------------------------------------------------------------------


def test_students_see_nothing_before_the_teacher_reveals_and_a_teacher_sees_how_all_guessed(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    room, teaches = Guesses(clock), [False]
    monkeypatch.setenv(cli.CLASS_VARIABLE, "1")
    monkeypatch.setattr(classroom, "guesses", lambda: room)
    monkeypatch.setattr(classroom, "is_teacher", lambda: teaches[0])
    monkeypatch.setattr(classroom, "_cookie", lambda: "")
    step = STEPS[0]
    student = open_page("lesson", level="Basic")
    assert "teacher reveals" in widget(student, "les_in_gives_go").help
    for said in ("50", "0"):
        widget(student, "les_in_gives").set_value(said)
        press(student, "les_in_gives_go")
        assert f"`{said} %`, is in" in answer(student) and step.predict.right not in words(student)
    other = open_page("lesson", level="Basic", les_said=["gives:100"])
    widget(other, "les_in_gives").set_value("7")
    press(other, "les_in_gives_go")
    assert room.of("gives") == {0.0: 1}, "one for each seat, and none for what came by a link"
    monkeypatch.setattr(classroom, "_cookie", lambda: "shared.one")
    for said in ("7", "8"):  # one browser that opens the clean link again
        again = open_page("lesson", level="Basic")
        widget(again, "les_in_gives").set_value(said)
        press(again, "les_in_gives_go")
        assert room.of("gives") == {0.0: 1, float(said): 1}, "its last guess, not both"
    monkeypatch.setattr(classroom, "_cookie", lambda: "")

    teaches[0] = True
    teacher = open_page("lesson", level="Basic")
    assert "**2 guesses** in" in words(teacher) and step.predict.right not in words(teacher)
    assert not [one for one in teacher.text_input if one.key.startswith("les_in")]
    press(teacher, "les_show")
    assert answer(teacher).startswith("**0 of 2** right (0 %). Right: 100 %. ") and not teacher.exception
    teaches[0] = False
    student.run()
    assert answer(student).startswith("Not quite: ") and "Of your class, **0 of 2** right (0 %)." in words(student)
    assert "class" not in answer(student), "which goes into what is pinned and exported"
    widget(student, "les_in_gives").set_value("100")
    press(student, "les_in_gives_go")
    assert room.of("gives") == {0.0: 1, 8.0: 1}, "nothing is counted after that"
    press(teacher, "les_end")
    assert not room.is_over, "whoever is no teacher ends no class"
    teaches[0] = True
    teacher.run()
    press(teacher, "les_end")
    assert room.is_over and answer(teacher).startswith("Guess first") and "the class has ended" in words(teacher)


def test_in_a_class_only_its_teacher_gets_the_solutions(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    room, teaches, offered = Guesses(clock), [False], set[str]()
    monkeypatch.setenv(cli.CLASS_VARIABLE, "1")
    monkeypatch.setattr(classroom, "guesses", lambda: room)
    monkeypatch.setattr(classroom, "is_teacher", lambda: teaches[0])
    monkeypatch.setattr(view, "download", lambda *_, key, **__: offered.add(key))
    open_page("lesson", step="card", level="Advanced")
    room.end()
    open_page("lesson", step="card", level="Advanced")
    assert offered == {"les_hand_out"}
    teaches[0] = True
    open_page("lesson", step="card", level="Advanced")
    assert offered == {"les_hand_out", "les_sheet"}


def test_in_a_presentation_a_show_of_hands_becomes_a_histogram() -> None:
    app = open_page("lesson", step="spend", present="1")
    widget(app, "les_hands_spend").set_value("50: many").run()
    assert answer(app).startswith("Guess first") and app.error[0].value.startswith("Expected guesses")
    widget(app, "les_hands_spend").set_value("50: 12, 73: 3").run()
    assert answer(app).startswith("**3 of 15** right (20 %).") and "12 guesses near 50 %: " in answer(app)
    assert not app.exception
