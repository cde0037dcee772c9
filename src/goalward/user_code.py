"""Load classes and functions from users' own Python files, with references such as ``my_env.py:make_env``.

goalward executes a user's file only if a reference names the file, and only once per process. The key of a run contains
the SHA-256 of the file's text, as in ``DIGEST.py:make_env``. If the user edits the file, new runs get new keys and old
runs are kept. `imported_code` returns a digest of the user's other files that the file imports.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import linecache
import re
import sys
import sysconfig
import threading
import traceback
import uuid
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from goalward.errors import FileError, GoalwardError, SettingError, UnknownNameError
from goalward.files import read_text

DIGEST = re.compile(r"\b([0-9a-f]{64})\.py:")
ATTACHED = re.compile(r"[0-9a-f]{64}\.(py|npz)")
INSTALLED = tuple({str(Path(__file__).parent), *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))})

_files: dict[str, UserFile] = {}
_loading = threading.RLock()


class UserFile(NamedTuple):
    """The path and the text of a user's file."""

    path: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def module(self) -> str:
        return f"goalward_user_{self.digest[:16]}"


def is_reference(name: object) -> bool:
    """Return whether `name` is a reference to a class or function in a file.

    >>> is_reference("psrl"), is_reference("folder/my_agent.py:MyAgent"), is_reference("my_agent.py")
    (False, True, True)
    """
    return isinstance(name, str) and re.search(r"\.py(:\w*)?$", name) is not None


def read_user_file(reference: str, folder: Path | None = None) -> tuple[UserFile, str]:
    """Return the file and the name in a `reference` such as ``file.py:Name``; the path is relative to `folder`."""
    name, colon, member = reference.rpartition(":")
    if not colon or not name.endswith(".py") or not member.isidentifier():
        raise SettingError(
            f"{reference!r} does not name a class or function in a file; write a reference such as my_agent.py:MyAgent"
        )
    if name[:-3] in _files:
        return _files[name[:-3]], member
    path = attached_path(folder or Path(), name)
    return UserFile(str(path), read_text(path, "it should be a Python file")), member


def described(name: str) -> str:
    """Return `name` for messages; a reference becomes ``MyAgent in my_agent.py``."""
    if not is_reference(name):
        return name
    file, member = read_user_file(name)
    return f"{member} in {file.path}"


def attached_path(folder: Path, name: str) -> Path:
    """Return the path of the file `name` in `folder`, or in the attachments if the study is stored."""
    path = folder / name
    return path if path.exists() or not ATTACHED.fullmatch(name) else folder / "../../attachments" / name


def remember(file: UserFile) -> str:
    """Store `file`, so that ``DIGEST.py:name`` refers to this file in this process; return the digest."""
    return _files.setdefault(digest := file.digest, file) and digest


def without_digests(text: str) -> str:
    """Return `text` with each ``DIGEST.py:name`` shortened to ``name``."""
    return DIGEST.sub("", text)


def digests_in(text: str) -> set[str]:
    """Return the digests in all references ``DIGEST.py:name`` in `text`."""
    return set(DIGEST.findall(text))


def hold(thing: Any) -> str:
    """Return a reference to the object `thing` in memory; only this process can resolve the reference."""
    name = getattr(thing, "__name__", "")
    member = name if name.isidentifier() else "function"
    file = UserFile("memory", f"# {uuid.uuid4().hex}\n")
    sys.modules[file.module] = ModuleType(file.module)
    setattr(sys.modules[file.module], member, thing)
    return f"{remember(file)}.py:{member}"


def load_member(reference: str) -> Any:
    """Return the class or function that `reference` names; execute its file on first use."""
    file, member = read_user_file(reference)
    with _loading:  # several threads of a worker may load it at once
        if file.module not in sys.modules:
            execute(file)
    members = vars(sys.modules[file.module])
    if member not in members:
        own = [name for name, value in members.items() if callable(value)]
        raise UnknownNameError(f"class or function in {file.path}", member, own)
    return members[member]


def execute(file: UserFile) -> None:
    """Execute a user's file as a module."""
    module = ModuleType(file.module)
    module.__file__ = file.path
    # Tracebacks show the text that was executed, even if the file has changed since.
    linecache.cache[file.path] = (len(file.text), None, file.text.splitlines(keepends=True), file.path)
    # Dataclasses and pickle look up the module here.
    sys.modules[file.module] = module
    if (folder := str(Path(file.path).absolute().parent)) not in sys.path:
        sys.path.append(folder)  # so that it can import the files beside it
    try:
        # The user named this file so that it runs, like any other program of theirs.
        exec(compile(file.text, file.path, "exec"), module.__dict__)  # noqa: S102
    except BaseException as error:
        del sys.modules[file.module]
        if not isinstance(error, Exception | SystemExit):
            raise
        raise FileError(f"{file.path}: cannot be loaded ({type(error).__name__}: {error})") from error


def imported_code(text: str, package: str = "") -> str:
    """Return a digest of the user's files that a program `text` imports directly or indirectly.

    Installed packages are left out. A module is hashed only once per process, because later edits have no effect.
    """
    digests: dict[str, str] = {}

    def visit(text: str, package: str) -> None:
        for name in imported_names(text, package):
            module, path = sys.modules.get(name), module_path(name)
            if isinstance(path, str) and path not in digests and is_users(path):
                source = Path(path).read_text(encoding="utf-8", errors="replace")
                digest = hashlib.sha256(source.encode()).hexdigest()
                digests[path] = digest if module is None else vars(module).setdefault("_source_digest", digest)
                visit(source, getattr(module, "__package__", None) or "")

    visit(text, package)
    return hashlib.sha256(" ".join(sorted(digests.values())).encode()).hexdigest()


def imported_names(text: str, package: str) -> Iterator[str]:
    """Yield the names of all modules that a program `text` in `package` may import."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:  # a cell of a notebook may hold more than Python
        nodes = []
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(filter(None, [package.rsplit(".", node.level - 1)[0] if node.level else "", node.module]))
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            yield from accumulate(name.split("."), "{}.{}".format)  # its parent packages, too


def module_path(name: str) -> str | None:
    """Return the file of the module `name`, or None if the module has no file or cannot be imported."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    try:
        return getattr(importlib.util.find_spec(name), "origin", None) if "." not in name else None
    except (ImportError, ValueError):
        return None


def is_users(path: str) -> bool:
    """Return whether a source file belongs to the user, not to Python, goalward or an installed package."""
    return path.endswith(".py") and not path.startswith(INSTALLED) and "-packages/" not in path.replace("\\", "/")


def place_of(error: BaseException) -> str:
    """Return the innermost line of the user's files in the traceback of `error`, or an empty string."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if is_users(frame.filename)]
    return f"{frames[-1].filename}, line {frames[-1].lineno}" if frames else ""


@contextlib.contextmanager
def blaming(what: str, file: str = "") -> Iterator[None]:
    """Convert exceptions from a user's file, and exceptions for wrong arguments, to SettingError."""
    try:
        yield
    except GoalwardError:
        raise
    except (Exception, SystemExit) as error:
        place = place_of(error) or file
        if not place and not isinstance(error, TypeError | ValueError | OverflowError):
            raise
        where = f"{place}: " if place else ""
        raise SettingError(f"{what} cannot be created ({where}{type(error).__name__}: {error})") from error
