"""The declaration of the settings of agents, priors and worlds, and the checks of their values.

The settings of an agent are the fields of its class. The settings of a prior are the parameters of its constructor. The
settings of a world are the parameters of its function. Annotations declare the allowed values::

    scale: Positive = 1.0
    ties: Literal["random", "first"] = "random"

Constructors, studies, ``--set`` on the command line, saved agents and ``goalward list`` all use these annotations.
`check` is strict: an integer is converted where a float is declared, but a string is never converted to a number.
Pydantic checks everything except plain numbers, and is imported on first use.
"""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import operator
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING as MISSING
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union, cast, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt

from goalward.errors import SettingError, UnknownNameError

Function = TypeVar("Function", bound=Callable[..., Any])

Count = Annotated[int, Ge(0)]
Size = Annotated[int, Ge(1)]
Positive = Annotated[float, Gt(0.0)]
NotNegative = Annotated[float, Ge(0.0)]
Share = Annotated[float, Ge(0.0), Le(1.0)]
Confidence = Annotated[float, Gt(0.0), Lt(1.0)]
"""Common annotations of settings."""

# Python's spellings are accepted as well as TOML's.
WORDS = {"True": True, "False": False, "None": None}
LIMITS = ("gt", "ge", "lt", "le")
TYPES = {bool: "True or False", str: "a text", NoneType: "None", None: "None"}


@dataclass(frozen=True)
class Setting:
    """The annotation and the default of one setting; `MISSING` means that there is no default."""

    annotation: Any
    default: Any

    @property
    def registry(self) -> Any:
        """The registry whose entries are allowed, such as the registry of priors; None for plain data."""
        kinds = (self.annotation, *get_args(self.annotation), self.default)
        return next((kind.registry for kind in kinds if hasattr(kind, "registry")), None)

    @property
    def optional(self) -> bool:
        return NoneType in get_args(self.annotation)

    @property
    def allowed(self) -> str:
        if self.registry is None:
            return allowed_text(self.annotation)
        return f"a {self.registry.kind}" + ", or None to let the task choose" * self.optional

    def check(self, name: str, value: Any, world: Any = None) -> Any:
        """Return `value` converted to the annotation; raise SettingError if `value` is not allowed."""
        if self.registry is not None:
            return None if value is None and self.optional else self.registry.build(value, world)
        return check(name, value, self.annotation)

    def plain(self, name: str, value: Any) -> Any:
        """Return a checked value as plain data for keys; a registry entry becomes its name and all its settings."""
        named = self.registry is not None and not (value is None and self.optional)
        return self.registry.complete(value) if named else plain(self.check(name, value))


def check(name: str, value: Any, kind: Any, note: str = "") -> Any:
    """Return `value` converted to the annotation `kind`; if this fails, raise SettingError with `note`.

    >>> check("delta", 1, Confidence, ", such as 0.1")
    Traceback (most recent call last):
    goalward.errors.SettingError: delta is 1; it must be a number between 0 and 1, both excluded, such as 0.1
    """
    # NumPy numbers and arrays are tried unchanged, then converted to Python values.
    for candidate in (value, value.tolist()) if hasattr(value, "tolist") else (value,):
        try:
            return converted(candidate, kind)
        except (ValueError, OverflowError):
            pass
    raise SettingError(f"{name} is {value!r}; it must be {allowed_text(kind)}{note}")


def converted(value: Any, kind: Any) -> Any:
    """Return `value` converted to the annotation `kind`; raise ValueError if `value` is not allowed.

    Numbers are checked without Pydantic, because importing Pydantic takes 0.1 s.
    """
    base, limits = base_and_limits(kind)
    if base not in (int, float) or len(limits) + 1 < len(get_args(kind)):
        return adapter(kind).validate_python(value)
    expected = numbers.Integral if base is int else numbers.Real
    if isinstance(value, expected) and not isinstance(value, bool):
        number = base(value)
        within = all(getattr(operator, name)(number, limit) for name, limit in limits.items())
        if within and (base is int or math.isfinite(number)):
            return number
    raise ValueError


def base_and_limits(kind: Any) -> tuple[Any, dict[str, float]]:
    """Return the type and the limits in an annotation, such as int and {"ge": 0} for `Count`."""
    base, *metadata = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    known = [limit for limit in metadata if isinstance(limit, Gt | Ge | Lt | Le)]
    return base, {name: getattr(limit, name) for limit in known for name in LIMITS if hasattr(limit, name)}


@functools.cache
def adapter(kind: Any) -> Any:
    """Return the Pydantic adapter that checks values for the annotation `kind`."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    try:
        return TypeAdapter(kind, config={"strict": True, "arbitrary_types_allowed": True, "allow_inf_nan": False})
    except PydanticUserError:  # Pydantic cannot check this type, so its class must
        return TypeAdapter(Any)


def between(low: float, high: float) -> Any:
    """Return an annotation for numbers from `low` to `high`, or for integers if both limits are integers."""
    kind: Any = int if isinstance(low, int) and isinstance(high, int) else float
    return Annotated[kind, Ge(low), Le(high)]


@functools.cache
def settings_of(thing: Any) -> dict[str, Setting]:
    """Return the settings of a class or function; for a function, parameters without defaults are left out."""
    fields = getattr(thing, "__dataclass_fields__", {})
    modules = [sys.modules.get(owner.__module__) for owner in getattr(thing, "__mro__", (thing,))]
    settings: dict[str, Setting] = {}
    for name, parameter in inspect.signature(thing).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        factory = getattr(fields.get(name), "default_factory", MISSING)
        default = parameter.default if factory is MISSING else factory()
        default = MISSING if default is parameter.empty else default
        if default is not MISSING or isinstance(thing, type):
            settings[name] = Setting(resolved(parameter.annotation, modules), default)
    return settings


def resolved(annotation: Any, modules: Sequence[Any]) -> Any:
    """Return `annotation` as a type, or Any if the annotation uses names that only type checkers import."""
    if annotation is inspect.Parameter.empty:
        return Any
    for module in modules if isinstance(annotation, str) else ():
        try:
            return eval(annotation, dict(vars(module)))  # noqa: S307 - the annotation is code of the class itself
        except (NameError, TypeError):
            pass
    return Any if isinstance(annotation, str) else annotation


def allowed_text(annotation: Any) -> str:
    """Describe in words which values an `annotation` allows.

    >>> allowed_text(Positive | None), allowed_text(Annotated[int, Ge(1), Le(8)]), allowed_text(Sequence[int])
    ('a positive number or None', 'an integer in 1..8', 'a list with each entry an integer')
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(allowed_text(argument) for argument in arguments))
    if origin is Literal:
        return " or ".join(map(repr, arguments))
    if origin is Annotated:
        kind, limits = base_and_limits(annotation)
        if not limits:
            return allowed_text(kind)
        low, high = limits.get("ge", limits.get("gt", -math.inf)), limits.get("le", limits.get("lt", math.inf))
        return range_text(kind, low, high, "gt" in limits)
    if annotation in (int, float):
        return "an integer" if annotation is int else "a number"
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return "a list" if arguments[0] is Any else f"a list with each entry {allowed_text(arguments[0])}"
    return TYPES.get(annotation) or f"of type {getattr(annotation, '__name__', annotation)}"


def range_text(kind: type, low: float, high: float, open: bool = False) -> str:
    """Describe in words which integers or numbers from `low` to `high` are allowed."""
    if kind is int:
        return f"an integer of at least {low}" if math.isinf(high) else f"an integer in {low}..{high}"
    if math.isinf(high):
        return ("a positive number" if low == 0.0 else f"a number above {low:g}") if open else f"a number from {low:g}"
    return f"a number between {low:g} and {high:g}, both excluded" if open else f"a number from {low:g} to {high:g}"


def checked(function: Function, owner: str | Callable[[], str], cls: type | None = None) -> Function:
    """Return `function` with a check of its arguments; error messages name the `owner` of the settings."""
    signature = functools.cache(lambda: inspect.signature(function))

    @functools.wraps(function)
    def call(*values: Any, **given: Any) -> Any:
        settings, whose = settings_of(cls or call), owner if isinstance(owner, str) else owner()
        check_names(whose, [name for name in given if name not in signature().parameters], settings)
        bound = signature().bind_partial(*values, **given)
        for name, setting in settings.items():
            if name in bound.arguments:
                bound.arguments[name] = setting.check(name, bound.arguments[name])
            elif setting.default is MISSING:
                raise missing(whose, cls, name)
        return function(*bound.args, **bound.kwargs)

    return cast(Function, call)


def missing(owner: str, thing: Any, name: str) -> SettingError:
    """Return the error for a missing setting, which has no default."""
    from_world = name in getattr(thing, "needs", ())
    hint = (
        f", a fact about the true model: pass it, or use {thing.__name__}.from_world(model, episodes=...); where no"
        " model is known, as in an environment, use psrl or q-learning, which do not need this setting"
    )
    return SettingError(f"{owner} needs {name}{hint if from_world else '; add it to its settings'}")


def complete(owner: str, thing: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of a class or function (also the defaults) as plain data, for the key of a run.

    Settings that can be computed from the true model are included only if they are in `given`.
    """
    settings = settings_of(thing)
    check_names(owner, given, settings)
    full: dict[str, Any] = {}
    for name, setting in settings.items():
        if name in given:
            full[name] = setting.plain(name, given[name])
        elif name in getattr(thing, "needs", ()):
            continue
        elif setting.default is MISSING:
            raise missing(owner, thing, name)
        else:
            full[name] = plain(setting.default)
    return full


class Declared:
    """The base of classes whose constructor checks its settings; objects with equal settings are equal."""

    needs: ClassVar[tuple[str, ...]] = ()
    """The settings that describe the true model; `Learner.from_world` computes these settings from the model."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Make the constructor of a subclass check its arguments."""
        super().__init_subclass__(**arguments)
        if "__init__" in vars(cls):
            cls.__init__ = checked(cls.__init__, cls.owner, cls)  # type: ignore[method-assign]

    @classmethod
    def owner(cls) -> str:
        """Return the name that messages use for this class."""
        return cls.__name__

    @classmethod
    def complete(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings (also the defaults) as plain data; see `goalward.settings.complete`."""
        return complete(cls.owner(), cls, settings)

    def settings(self) -> dict[str, Any]:
        cls: Any = type(self)
        return {name: plain(getattr(self, name)) for name in settings_of(cls)}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.settings() == other.settings()

    def __hash__(self) -> int:
        return hash(repr((type(self).__name__, self.settings())))


def plain(value: Any) -> Any:
    """Return a setting as plain data; objects are replaced by their settings, and models by their digests."""
    if hasattr(value, "digest"):
        return {"digest": value.digest}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    described = getattr(value, "settings", None)
    return described() if callable(described) else value


def check_memory(what: str, size: float) -> None:
    """Raise SettingError if `what` needs more memory (`size` bytes) than this machine has."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if size > memory:
        raise SettingError(
            f"{what} needs {size / 1e9:,.0f} GB of memory, but this machine has {memory / 1e9:,.0f}; choose smaller"
            " settings"
        )


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UnknownNameError if a name in `given` is not a setting of `owner`."""
    names = list(known)
    for name in given:
        if name not in names:
            raise UnknownNameError(f"setting of {owner}", name, names)


def read_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Return the settings in `pairs`, which are strings like ``rows=5``.

    A value is read as TOML, or as a string if it is not valid TOML. ``True``, ``False`` and ``None`` are also allowed.

    >>> read_settings(["rows=5", "ties=first", "rescale=false", "prior={kind='dirichlet', concentration=1.0}"])
    {'rows': 5, 'ties': 'first', 'rescale': False, 'prior': {'kind': 'dirichlet', 'concentration': 1.0}}
    """
    settings: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise SettingError(f"expected NAME=VALUE, such as {name or 'rows'}=5, got {pair!r}")
        if name in settings:
            raise SettingError(f"{name} is set twice, to {settings[name]!r} and {text!r}; keep one value")
        settings[name] = read_value(text)
    return settings


def read_value(text: str) -> Any:
    """Return the value in the string `text`; see `read_settings`."""
    if text in WORDS:
        return WORDS[text]
    try:
        table = tomllib.loads(f"value = {text}")
        if table.keys() == {"value"} and isinstance(table["value"], str | int | float | list | dict):
            return table["value"]
    except tomllib.TOMLDecodeError:
        pass
    except (ValueError, RecursionError):
        raise SettingError(f"{text[:20]}... has too many digits, or is nested too deeply, for a setting") from None
    try:
        return float(text)  # such as .5, which is not TOML
    except ValueError:
        return text
