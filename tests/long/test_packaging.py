"""What a stranger gets: the settings shipped, the command, the wheel, the two commands of the README."""

from __future__ import annotations

import ast
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import treedp_core
from browsing import ROOT, SAFE_ENVIRONMENT, free_port, wait_until_healthy
from gallery import MOST_BYTES, pictures
from sample_data.catalogue import count_sample
from treedp_core import cli
from treedp_core.notebook.code import call
from treedp_core.records import count_hierarchy, domain_taken_from_the_data

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONFIG = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))


# --- settings --------------------------------------------------------------------------------------------------------


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return found


def test_every_setting_exists_in_streamlit() -> None:
    from streamlit import config

    assert set(flat(CONFIG)) - set(config.get_config_options()) == set()


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("server.address", "127.0.0.1"), ("server.allowedHosts", ["localhost", "127.0.0.1", "::1"]),
        ("client.allowedOrigins", []), ("logger.hideWelcomeMessage", True), ("server.enableCORS", True),
        ("server.enableXsrfProtection", True), ("server.enableStaticServing", False),
        ("browser.gatherUsageStats", False), ("client.showErrorDetails", "none"), ("client.showErrorLinks", False),
        ("client.disableDataExport", True),
    ],
)  # fmt: skip
def test_shipped_settings_are_careful(setting: str, value: object) -> None:
    assert flat(CONFIG)[setting] == value


def test_theme_lists_have_the_length_streamlit_needs() -> None:
    assert len(CONFIG["theme"]["chartSequentialColors"]) == len(CONFIG["theme"]["chartDivergingColors"]) == 10
    assert {"light", "dark"} <= set(CONFIG["theme"])


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Commands that `treedp` would have turned into, with their environments."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    monkeypatch.setattr(os, "execve", lambda path, command, env: calls.append((command, env)))
    return calls


def test_starts_streamlit_with_safe_defaults(started: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in cli.DEFAULTS:
        monkeypatch.delenv(name, raising=False)
    port = free_port()
    cli.main(["--port", str(port)])
    ((command, env),) = started
    assert command[1:] == ["-P", "-m", "streamlit", "run", str(ROOT / "app.py"), f"--server.port={port}"]
    assert env.items() >= cli.DEFAULTS.items()
    assert env["STREAMLIT_SERVER_ADDRESS"] == "127.0.0.1"
    assert "TREEDP_FILE" not in env


def test_own_settings_win_over_the_defaults() -> None:
    env = cli.environment({"STREAMLIT_SERVER_ADDRESS": "192.0.2.1", "HOME": "/home/x"})
    assert env["STREAMLIT_SERVER_ADDRESS"] == "192.0.2.1"
    assert env["HOME"] == "/home/x"


def test_a_file_is_handed_over_by_its_absolute_path(
    started: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my data.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    cli.main(["my data.csv", "--port", str(free_port())])
    assert started[0][1]["TREEDP_FILE"] == str(tmp_path / "my data.csv")


def test_a_pattern_in_quotation_marks_names_several_files_and_files_one_by_one_do_not(
    started: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("city\nUlm\n")
    monkeypatch.chdir(tmp_path)
    cli.main(["*.csv", "--levels", "city", "--port", str(free_port())])
    assert started[0][1]["TREEDP_FILE"] == str(tmp_path / "*.csv")
    data = count_hierarchy(started[0][1]["TREEDP_FILE"], ["city"], domain=domain_taken_from_the_data())
    assert data.counts.tolist() == [2, 2]
    assert cli.main(["a.csv", "b.csv"]) == 2
    assert capsys.readouterr().err == (
        "treedp: Got 2 files: give their folder, or a pattern in quotation marks, such as '*.csv'.\n"
    )
    assert cli.main(["*.tsv"]) == 2 and "no file or folder '*.tsv'" in capsys.readouterr().err


def test_a_file_of_an_earlier_run_is_not_handed_over() -> None:
    assert "TREEDP_FILE" not in cli.environment({"TREEDP_FILE": "/old.csv"})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no-such.csv"], "treedp: There is no file or folder 'no-such.csv'; give the path of one.\n"),
        (["run", "none.treedp"], "treedp: There is no file or folder 'none.treedp'; give the path of one.\n"),
        (["run", "--out", "x", "a.csv"], "treedp: Expected a notebook (.treedp) or a sweep (.json), got 'a.csv'.\n"),
        (["--port", "0"], "treedp: Expected port to be a whole number from 1 to 65\u202f535, got 0.\n"),
        (["--port", "web"], "treedp: Expected port to be a whole number from 1 to 65\u202f535, got 'web'.\n"),
    ],
)
def test_refusals_are_one_sentence(
    arguments: list[str], sentence: str, started: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(arguments) == 2
    assert capsys.readouterr().err == sentence
    assert started == []


def test_a_port_in_use_names_the_next_free_one(started: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["--port", str(port)]) == 2
    message = capsys.readouterr().err
    named = re.fullmatch(rf"treedp: Port {port} of 127\.0\.0\.1 is in use; try: treedp --port (\d+)\n", message)
    assert named and int(named[1]) > port
    assert started == []


def test_a_folder_is_handed_over_like_a_file(tmp_path: Path) -> None:
    assert cli.environment({}, str(tmp_path))["TREEDP_FILE"] == str(tmp_path)


def test_streamlit_s_port_variable_counts_when_none_is_asked_for() -> None:
    port = free_port()
    env = cli.environment({"STREAMLIT_SERVER_PORT": str(port)})
    assert cli.usable_port(None, env) == port


def test_version_is_the_one_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"TreeDP {treedp_core.__version__}\n"


# --- the wheel -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    return next(folder.glob("treedp-*.whl"))


def test_the_wheel_holds_the_app_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name.startswith(f"treedp-{treedp_core.__version__}-")
    app = "treedp_core/_app/"
    needed = {"app.py", "static/favicon.svg", ".streamlit/config.toml", "sample_data/catalogue.py"}
    needed |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "sample_data").glob("*.csv*")}
    needed |= {p.relative_to(ROOT).as_posix() for p in (ROOT / "pages").rglob("*.py")}
    assert {app + name for name in needed} - names == set()
    assert {p.relative_to(ROOT).as_posix() for p in (ROOT / "treedp_core").rglob("*.py")} - names == set()
    assert [n for n in names if "__pycache__" in n or n.startswith(("tests/", "pages/", "sample_data/"))] == []


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """`treedp` of the unpacked wheel, started in an unrelated folder: its address and that folder."""
    site, folder = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("unrelated")
    zipfile.ZipFile(wheel).extractall(site)
    port = free_port()
    env = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")} | {"PYTHONPATH": str(site)}
    env |= {"STREAMLIT_SERVER_HEADLESS": SAFE_ENVIRONMENT["STREAMLIT_SERVER_HEADLESS"]}
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "treedp_core", "--port", str(port)],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}", server)
            yield f"http://127.0.0.1:{port}", folder
        finally:
            server.terminate()
            server.wait(10)


def test_the_wheel_starts_in_an_unrelated_folder(elsewhere: tuple[str, Path]) -> None:
    url, folder = elsewhere
    assert url in (folder / "log").read_text()  # Streamlit prints the address


def test_the_wheel_s_own_settings_are_in_force(elsewhere: tuple[str, Path]) -> None:
    """`allowedHosts` comes from the config file only, so a refused name shows that the file was read."""
    url, _ = elsewhere
    assert handshake(url, host="evil.example") == 403
    assert handshake(url, host="localhost") == 101


def test_code_of_a_sample_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """The sample and its file come from the wheel, in a folder where there is nothing else of the project."""
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "empty").mkdir()
    code = call(print, call(count_sample, "mobility").named("data").get("total")).snippet()
    env = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "empty", env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == count_sample("mobility").total


def handshake(url: str, host: str) -> int:
    """Status of a websocket handshake that calls the server by the name `host`."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)
    key = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    key |= {"Sec-WebSocket-Key": "dHJlZWRwIHRyZWVkcCB0cg=="}
    connection.request("GET", "/_stcore/stream", headers={"Host": host, **key})
    answer = connection.getresponse()
    answer.close()
    connection.close()
    return answer.status


# --- for hosts -------------------------------------------------------------------------------------------------------


def test_requirements_of_a_host_are_those_of_the_project() -> None:
    assert [line for line in read("requirements.txt").splitlines() if line[0] != "#"] == PROJECT["dependencies"]


def test_an_image_serves_as_a_user_without_rights_what_treedp_takes(started: list[Any]) -> None:
    lines = [line.partition(" ") for line in read("Dockerfile").splitlines() if line and line[0] not in "# "]
    last = {word: rest for word, _, rest in lines}
    assert last["USER"] not in ("root", "0") and lines.index(("USER", " ", last["USER"])) < len(lines) - 2
    entry = json.loads(last["ENTRYPOINT"])
    assert entry[0] in PROJECT["scripts"]
    cli.main([*entry[1:], *json.loads(last["CMD"]), "--port", str(free_port())])
    cli.main([*entry[1:], "trees.example.org", "--port", str(free_port())])
    for (_, env), name in zip(started, ("localhost", "trees.example.org"), strict=True):
        assert env["STREAMLIT_SERVER_ALLOWED_HOSTS"] == name and env["TREEDP_PUBLIC"] == "1"


def test_what_an_image_leaves_out_is_not_in_the_wheel() -> None:
    left_out = read(".dockerignore").splitlines()
    assert ".*" in left_out and "!.streamlit" in left_out, (
        "else secrets and environments would be in the image's layers"
    )
    hatch = tomllib.loads(read("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {path.split("/")[0] for path in (*hatch["packages"], *hatch["force-include"], "README.md", "LICENSE")}
    assert needed & set(left_out) == set()


# --- what is declared ------------------------------------------------------------------------------------------------


def test_every_library_imported_is_declared() -> None:
    declared = {re.split(r"[<>=\[;]", text)[0] for text in PROJECT["dependencies"]}
    declared |= {re.split(r"[<>=\[;]", text)[0] for text in PROJECT["optional-dependencies"]["image"]}
    paths = [ROOT / "app.py", *(p for d in ("treedp_core", "pages", "sample_data") for p in (ROOT / d).rglob("*.py"))]
    used = set()
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                used.add((node.module or "").split(".")[0])
    ours = {"treedp_core", "pages", "sample_data"}
    assert used - ours - sys.stdlib_module_names - declared == set()


def test_readme_starts_with_the_two_commands() -> None:
    text = read("README.md")
    first = re.search(r"```\w*\n(.*?)```", text, re.S)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == ["make run", "make test"]
    assert re.search(r"^## ", text[: first.start()], re.M) is None


def test_every_page_has_its_pictures_and_readme_shows_pictures_that_are_there() -> None:
    assert {file.name for file in (ROOT / "docs" / "gallery").iterdir()} == {file.name for file in pictures()}
    assert all(file.stat().st_size <= MOST_BYTES for file in pictures())
    assert len(re.findall(r"!\[[^\]]+\]\(docs/gallery/", read("README.md"))) >= 2


def test_readme_is_short_and_names_every_document() -> None:
    text = read("README.md")
    assert len(text.splitlines()) <= 120
    documents = {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("*.md")}
    assert documents - set(re.findall(r"\]\(([^)#]+)", text)) == set()


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_every_link_of_a_document_leads_somewhere(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    for place, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        there = (file.parent / place).resolve() if place else file
        assert there.is_file(), place
        headings = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.M) if anchor else []
        assert not anchor or anchor in {heading.lower().replace(" ", "-") for heading in headings}, anchor


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_every_file_that_a_document_names_is_there(file: Path) -> None:
    named = re.findall(
        r"`((?:tests|pages|treedp_core|sample_data|docs)/[\w./-]*\w/?)`", file.read_text(encoding="utf-8")
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_changelog_and_licence_are_there() -> None:
    (version, lines), *_ = re.findall(r"^## \[(.+)\]\n((?:.*\n(?!## ))+)", read("CHANGELOG.md"), re.M)
    assert version in ("Unreleased", treedp_core.__version__) and len(lines.splitlines()) <= 30
    assert read("LICENSE").startswith("MIT License")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("make")
    if program is None:
        pytest.skip("make is not installed")
    env = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run([program, *arguments], cwd=ROOT, env=env, capture_output=True, text=True, timeout=60)


def test_make_alone_lists_what_it_can() -> None:
    answer = make()
    assert answer.returncode == 0
    for target in ("run", "test", "bench", "samples", "lint", "format", "clean"):
        assert f"make {target} " in answer.stdout


def test_make_refuses_an_old_python_in_one_sentence(tmp_path: Path) -> None:
    old = tmp_path / "python3.8"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    answer = make("python", f"PYTHON={old}")
    assert answer.returncode != 0
    assert "TreeDP needs Python 3.11 or later" in answer.stderr


def test_make_finds_a_python_that_is_newer_than_this_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, answers in (("python3", "exit 1"), ("python3.15", f'exec {sys.executable} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{answers}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert make("--eval=which: ; @echo $(PYTHON)", "which").stdout.strip() == "python3.15"


def test_a_documented_refusal_is_compared_word_by_word() -> None:
    """IGNORE_EXCEPTION_DETAIL would compare its type only, and ELLIPSIS everywhere any beginning of it."""
    options = tomllib.loads(read("pyproject.toml"))["tool"]["pytest"]["ini_options"]
    assert options["doctest_optionflags"] == ["NORMALIZE_WHITESPACE"]


def test_no_python_is_too_new() -> None:
    assert PROJECT["requires-python"] == ">=3.11"
    assert "sys.version_info < (3, 11)" in read("Makefile"), "the lower bound is the only one there, too"
