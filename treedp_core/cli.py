"""The command `treedp`: start the app on this machine only, from a checkout or from an installed wheel."""

from __future__ import annotations

import argparse
import glob
import ipaddress
import json
import os
import re
import secrets
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

from treedp_core import __version__, checks
from treedp_core.checks import InputError, echo
from treedp_core.registry import load_plugin

HOST = "127.0.0.1"
EVERY_NETWORK = "0.0.0.0"
FIRST_PORT = 8501
FILE_VARIABLE = "TREEDP_FILE"
LEVELS_VARIABLE = "TREEDP_LEVELS"
KEY_VARIABLE = "TREEDP_KEY"
NOTEBOOK_VARIABLE = "TREEDP_NOTEBOOK"
SAVE_VARIABLE = "TREEDP_SAVE"
PLUGINS_VARIABLE = "TREEDP_PLUGINS"
CLASS_VARIABLE = "TREEDP_CLASS"
PUBLIC_VARIABLE = "TREEDP_PUBLIC"
OF_ONE_START = (
    FILE_VARIABLE, LEVELS_VARIABLE, KEY_VARIABLE, NOTEBOOK_VARIABLE, SAVE_VARIABLE, PLUGINS_VARIABLE, CLASS_VARIABLE,
)  # fmt: skip
NOTEBOOK = ".treedp"
ADDRESS_VARIABLE = "STREAMLIT_SERVER_ADDRESS"
HOSTS_VARIABLE = "STREAMLIT_SERVER_ALLOWED_HOSTS"
WILDCARDS = ("0.0.0.0", "::", "")
HOST_NAME: Final = re.compile(r"(?!-)[a-z0-9-]{1,63}(?<!-)(\.(?!-)[a-z0-9-]{1,63}(?<!-))*", re.IGNORECASE | re.ASCII)

# The first two must be there before a process allocates memory: without them the heap keeps what uploads needed. Small
# matrices take ten times the time on several threads, and other visitors want them.
DEFAULTS = {
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    ADDRESS_VARIABLE: HOST,
    "STREAMLIT_SERVER_SHOW_EMAIL_PROMPT": "false",
    "STREAMLIT_BROWSER_GATHER_USAGE_STATS": "false",
}
PATHS: Final = ("STREAMLIT_SERVER_SSL_CERT_FILE", "STREAMLIT_SERVER_SSL_KEY_FILE", "TREEDP_CHROMIUM")
"""Variables that name a file, perhaps beside the current folder, which the server leaves."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status of `treedp`; on success the process becomes the app's server and does not return.

    Status 2, with one sentence on standard error, when the file, the port or a plug-in cannot be used.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words and words[0] in SUBCOMMANDS:
        return SUBCOMMANDS[words[0]](words[1:])
    given = _parser().parse_args(words)
    try:
        if len(given.file) > 1:
            raise InputError(
                "FILE_SEVERAL",
                f"Got {len(given.file)} files: give their folder, or a pattern in quotation marks, such as '*.csv'.",
            )
        env = environment(
            os.environ, "".join(given.file) or None, network=given.allow_network, save=given.save, plugins=given.plugin,
            classroom=given.classroom, hosts=given.host, levels=given.levels, counts=given.counts, unit=given.unit,
            leave_out=given.leave_out,
        )  # fmt: skip
        load_plugins(env)
        port = usable_port(given.port, env)
        app = app_path()
        # Streamlit takes settings and secrets from the folder it is started in: in a folder of downloads, a stranger's
        return _become(_program("streamlit", "run", str(app), f"--server.port={port}"), env, app.parent)
    except InputError as error:
        print(f"treedp: {error}", file=sys.stderr)
        return 2


def _run(words: Sequence[str]) -> int:
    """Exit status of `treedp run FILE`: a notebook or a sweep; the process becomes what runs it.

    Status 0 when all was done as before, 1 when a cell failed or differs, 2 with one sentence for what cannot be used.
    """
    bare = [word for before, word in pairwise(["", *words]) if not before.startswith("--")]
    named = [word for word in bare if word.lower().endswith((NOTEBOOK, ".json"))][:1]
    others = [word for word in bare if not named and not word.startswith("-")]
    plugins = [word for before, word in pairwise(words) if before == "--plugin"]
    try:
        if others:
            raise InputError(
                "FILE_KIND", f"Expected a notebook ({NOTEBOOK}) or a sweep (.json), got {echo(others[0])}."
            )
        mine = {name: value for name, value in os.environ.items() if name != PUBLIC_VARIABLE}  # it serves nobody
        env = environment(mine, named[0] if named else None, plugins=plugins)
        env.pop(SAVE_VARIABLE, None)  # what cells are compared with is not written over
        return _become(_program("treedp_core.batch.run", *words, "--made-by", __version__), env)
    except InputError as error:
        print(f"treedp: {error}", file=sys.stderr)
        return 2


def _prepare(words: Sequence[str]) -> int:
    """Exit status of `treedp prepare FILE PLAN.json`, which the process becomes."""
    return _become(_program("treedp_core.plans.preparation", *words), DEFAULTS | _away_from_here(os.environ))


SUBCOMMANDS: Final[Mapping[str, Callable[[Sequence[str]], int]]] = {"run": _run, "prepare": _prepare}
"""What does not start the app: the words behind it -> exit status."""


def _program(module: str, *words: str) -> list[str]:
    """Words that start a module as a program, which looks for no module in the current folder."""
    return [sys.executable, "-P", "-m", module, *words]


def environment(
    base: Mapping[str, str],
    file: str | None = None,
    *,
    network: bool = False,
    save: str | None = None,
    plugins: Sequence[str] = (),
    classroom: bool = False,
    hosts: Sequence[str] = (),
    levels: Sequence[str] = (),
    counts: str | None = None,
    unit: str | None = None,
    leave_out: Sequence[str] = (),
) -> dict[str, str]:
    """Environment of the server: `base`, the safe defaults it does not set itself, and the file to open.

    A file is shown to whoever opens the app; other users of this machine reach its address too, hence a key of its own
    for each start with a file. A file of records and a notebook go by variables of their own; `save` names the notebook
    that every change is written to, which is opened first if it is there. Without it that is the notebook itself, where
    this user may write it and it is not open to a `network`. `plugins` are the packages that the app and its workers
    load: those of the command line, and never others. `levels` are those that the file of records is to have: columns,
    or what is made of one, such as ``born:time:month``; `counts` and `unit` name its columns of these, and rows with
    one of the labels to `leave_out`, such as ``state=Total``, are no records. A `classroom` serves the network of this
    machine, under its address there, and takes no file. Nor does an app that serves others under the names `hosts`,
    unless `base` says that it is not public.

    Raises
    ------
    InputError
        FILE_MISSING when there is no such file; SAVE_PLACE when no notebook can be written there; ADDRESS_OPEN when
        the server would listen on every network of this machine and `network` does not allow that; CLASS_FILE for a
        class with a file, PUBLIC_FILE for a public app with one, HOST_NAME for a host that no browser asks for,
        LEVELS_OF_NOTHING for levels without a file of records, LEFT_OUT for what is no label of a column.

    Examples
    --------
    >>> environment({"MALLOC_ARENA_MAX": "4"})["MALLOC_ARENA_MAX"]
    '4'
    """
    base = _for_others(base, hosts) if hosts else base
    if file is not None or save is not None:
        if classroom:
            raise InputError("CLASS_FILE", "A class opens no file and saves none; leave the file out, or --class.")
        if is_on(base, PUBLIC_VARIABLE):
            setting = "--host" if hosts else PUBLIC_VARIABLE
            raise InputError(
                "PUBLIC_FILE", f"A public app opens no file and saves none; leave the file out, or {setting}."
            )
    env = DEFAULTS | (_for_a_class(base, hosts) if classroom else {}) | _away_from_here(base)
    for name in OF_ONE_START:
        env.pop(name, None)
    network = network or classroom or bool(hosts)
    if env[ADDRESS_VARIABLE].strip("[] ") in WILDCARDS and not network:
        raise InputError(
            "ADDRESS_OPEN",
            f"The address {echo(env['STREAMLIT_SERVER_ADDRESS'])} serves every network of this machine; "
            "add --allow-network if that is meant.",
        )
    if file is not None:
        env[NOTEBOOK_VARIABLE if file.lower().endswith(NOTEBOOK) else FILE_VARIABLE] = str(_readable(file))
    answers = _answers(levels, counts, unit, leave_out)
    if answers and FILE_VARIABLE not in env:
        raise InputError("LEVELS_OF_NOTHING", "Levels are those of a file of records: name one, or leave --levels out.")
    if answers:
        env[LEVELS_VARIABLE] = json.dumps(answers)
    if save is not None:
        env[SAVE_VARIABLE] = str(_writable(save))
    elif NOTEBOOK_VARIABLE in env and not network and _is_written_by_us(env[NOTEBOOK_VARIABLE]):
        env[SAVE_VARIABLE] = env[NOTEBOOK_VARIABLE]
    if classroom:
        env[CLASS_VARIABLE] = "1"
    if plugins:
        env[PLUGINS_VARIABLE] = ",".join(plugins)
    if file is not None or save is not None:
        env[KEY_VARIABLE] = secrets.token_urlsafe(24)
    return env


def _away_from_here(base: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with which a process, and all that it starts, takes no module from the current folder."""
    env = dict(base) | {name: os.path.abspath(base[name]) for name in PATHS if base.get(name)} | {"PYTHONSAFEPATH": "1"}
    if "PYTHONPATH" in base:  # an empty entry, often left by mistake, is the current folder
        named = filter(None, base["PYTHONPATH"].split(os.pathsep))
        env["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, named))
    return env


def is_on(env: Mapping[str, str], variable: str) -> bool:
    """Whether a variable of an environment is set, and not to 0."""
    return env.get(variable, "") not in ("", "0")


def _for_others(base: Mapping[str, str], hosts: Sequence[str]) -> dict[str, str]:
    """Return `base` with what serving others takes where it does not say so itself; `hosts` are named here alone.

    >>> _for_others({ADDRESS_VARIABLE: "127.0.0.1"}, ["a.example", "b.example"])
    {'TREEDP_PUBLIC': '1', 'STREAMLIT_SERVER_ADDRESS': '127.0.0.1', 'STREAMLIT_SERVER_HEADLESS': 'true', \
'STREAMLIT_SERVER_ALLOWED_HOSTS': 'a.example b.example'}
    """
    for host in hosts:
        if host in WILDCARDS or not (HOST_NAME.fullmatch(host) or _is_address(host)):
            raise InputError(
                "HOST_NAME",
                "Expected after --host the names in the addresses that visitors open, such as trees.example.org, "
                f"without https:// and port, got {echo(host)}.",
            )
    usual = {PUBLIC_VARIABLE: "1", ADDRESS_VARIABLE: EVERY_NETWORK, "STREAMLIT_SERVER_HEADLESS": "true"}
    return usual | {name: value for name, value in base.items() if value} | {HOSTS_VARIABLE: " ".join(hosts)}


def _is_address(host: str) -> bool:
    try:
        return ipaddress.ip_address(host) is not None
    except ValueError:
        return False


def _for_a_class(base: Mapping[str, str], hosts: Sequence[str]) -> dict[str, str]:
    """Settings under which others on this machine's network reach it, where `base` does not name an address."""
    if hosts:
        return {"STREAMLIT_BROWSER_SERVER_ADDRESS": hosts[0]}
    if ADDRESS_VARIABLE in base:
        return {}
    mine = own_address()
    return {
        ADDRESS_VARIABLE: EVERY_NETWORK,
        HOSTS_VARIABLE: " ".join(("localhost", HOST, "::1", mine)),
        "STREAMLIT_BROWSER_SERVER_ADDRESS": mine,
    }


def _answers(
    levels: Sequence[str], counts: str | None, unit: str | None, leave_out: Sequence[str]
) -> dict[str, object]:
    """What is said at the start of a file of records, as answers to what is asked of its columns; only what is said."""
    left_out = dict[str, list[str]]()
    for text in leave_out:
        column, mark, label = text.partition("=")
        if not column or not mark or not label:
            raise InputError("LEFT_OUT", f"Expected a column and a label, such as state=Total, got {echo(text)}.")
        left_out.setdefault(column, []).append(label)
    said = {"levels": list(levels), "weight": counts, "unit": unit, "left_out": left_out}
    return {name: one for name, one in said.items() if one}


def own_address() -> str:
    """Address of this machine on its network, 127.0.0.1 without one; nothing is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of documentation: only the way there is looked up
            return str(probe.getsockname()[0])
        except OSError:
            return HOST


def load_plugins(env: Mapping[str, str]) -> None:
    """Load the plug-ins that the app was started with: in the app's process, and in that of its workers.

    Raises
    ------
    InputError
        As `load_plugin`.
    """
    for package in filter(None, env.get(PLUGINS_VARIABLE, "").split(",")):
        load_plugin(package)


def _writable(save: str) -> Path:
    try:
        path = Path(save).expanduser().absolute()
        there = path.parent.is_dir() and os.access(path.parent, os.W_OK)
        there = there and not path.is_symlink() and (not path.exists() or path.is_file())
    except (OSError, ValueError, RuntimeError):
        there = False
    if not there or not save.lower().endswith(NOTEBOOK):
        raise InputError(
            "SAVE_PLACE", f"No notebook can be saved as {echo(save)}; give a name with {NOTEBOOK} in a folder of yours."
        )
    return path


def _is_written_by_us(notebook: str) -> bool:
    try:
        return os.access(_writable(notebook), os.W_OK)
    except InputError:
        return False


def _readable(file: str) -> Path:
    try:
        path = Path(file).expanduser().absolute()
        there, readable = path.is_file() or path.is_dir(), os.access(path, os.R_OK)
        if not there and glob.has_magic(file):
            there = readable = next(glob.iglob(str(path), recursive=True), None) is not None
    except (OSError, ValueError, RuntimeError):  # too long a name, a NUL in it, no home folder
        there = readable = False
    if not there:
        raise InputError("FILE_MISSING", f"There is no file or folder {echo(file)}; give the path of one.")
    if not readable:
        raise InputError("FILE_UNREADABLE", f"The file {echo(file)} may not be read by this user.")
    return path


def usable_port(asked: str | None, env: Mapping[str, str]) -> int:
    """Port to serve on: the one asked for, else STREAMLIT_SERVER_PORT, else 8501.

    Raises
    ------
    InputError
        PORT_RANGE when it is no port, PORT_IN_USE when something listens there; the next free one is named.
    """
    text = asked or env.get("STREAMLIT_SERVER_PORT") or str(FIRST_PORT)
    port = checks.integer("port", int(text) if text.isdecimal() else text, low=1, high=65535, code="PORT_RANGE")
    host = env[ADDRESS_VARIABLE]
    if not is_free(host, port):
        free = next((p for p in range(port + 1, min(port + 200, 65536)) if is_free(host, p)), None)
        hint = f"; try: treedp --port {free}" if free else ""
        raise InputError("PORT_IN_USE", f"Port {port} of {host} is in use{hint}")
    return port


def is_free(host: str, port: int) -> bool:
    """Whether a server could listen on this port now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True


def app_path() -> Path:
    """Where `app.py` is: inside the package in a wheel, beside it in a checkout.

    Raises
    ------
    InputError
        APP_MISSING when it is in neither place.
    """
    package = Path(__file__).resolve().parent
    for folder in (package / "_app", package.parent):
        if (folder / "app.py").is_file() and (folder / "pages").is_dir():
            return folder / "app.py"
    raise InputError("APP_MISSING", "The app is not installed beside treedp_core; install TreeDP again.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="treedp",
        description=f"Explore differentially private counts on trees in the browser, on http://{HOST}.",
        epilog="treedp run FILE runs a notebook or a sweep without a browser; treedp prepare FILE PLAN.json writes the "
        "records that a plan's program reads. See their --help.",
    )
    parser.add_argument(
        "file",
        nargs="*",
        metavar="FILE",
        help="a local file of records, of any size; a folder of them, or a pattern in quotation marks, 'leaves/*.csv'; "
        f"or a notebook ({NOTEBOOK}): every change is written to it",
    )
    _add_answers(parser)
    parser.add_argument(
        "--save",
        metavar="NOTEBOOK",
        help=f"write every change to this notebook (TRUE COUNTS; {NOTEBOOK}), opened first",
    )
    parser.add_argument(
        "--plugin", action="append", default=[], metavar="PACKAGE",
        help="load an installed package whose entries join the app's tables, as not reviewed; may be repeated",
    )  # fmt: skip
    parser.add_argument("--port", metavar="N", help=f"port to serve on (default {FIRST_PORT})")
    parser.add_argument(
        "--allow-network", action="store_true", help=f"let {ADDRESS_VARIABLE} be 0.0.0.0 or ::, open to others"
    )
    parser.add_argument(
        "--host", nargs="+", action="extend", default=[], metavar="NAME",
        help=f"serve others under these names, on every network of this machine: no uploads unless {PUBLIC_VARIABLE}=0",
    )  # fmt: skip
    parser.add_argument(
        "--class", action="store_true", dest="classroom",
        help="open the lesson to a class on this machine's network, behind a word that is printed; no uploads",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"TreeDP {__version__}")
    return parser


def _add_answers(parser: argparse.ArgumentParser) -> None:
    """Add what may be said of a file of records."""
    parser.add_argument(
        "--levels", nargs="+", action="extend", default=[], metavar="LEVEL",
        help="levels of its tree from the top: columns, or what is made of one, such as born:time:month (docs/app.md)",
    )  # fmt: skip
    parser.add_argument("--counts", metavar="COLUMN", help="column that says how many records a row stands for")
    parser.add_argument("--unit", metavar="COLUMN", help="column that says whom a row is about")
    parser.add_argument(
        "--leave-out", nargs="+", action="extend", default=[], metavar="COLUMN=LABEL",
        help="rows with this label are no records, such as state=Total",
    )  # fmt: skip


def _become(command: Sequence[str], env: Mapping[str, str], folder: Path | None = None) -> int:
    """Replace this process by another program, in a folder, so that it starts with `env` and receives Ctrl+C itself."""
    sys.stdout.flush()
    if os.name == "nt":  # Windows has no exec that keeps the console
        return subprocess.call(command, env=env, cwd=folder)
    if folder is not None:
        os.chdir(folder)
    os.execve(command[0], list(command), dict(env))
