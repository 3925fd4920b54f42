"""Options that treadle.compile reads."""

from __future__ import annotations

import sys
from typing import Any

from treadle.config import (
    BACKEND_REQUIREMENTS,
    BOOL,
    INT,
    LINKER_REQUIREMENTS,
    EntryPointLoadError,
    Kind,
    Option,
    discover,
    subset,
)

_POSITIVE = INT.where("an integer > 0", lambda value: value > 0)
_BACKENDS = sorted({*discover("treadle.backends"), *BACKEND_REQUIREMENTS})
_MODES = (
    *("Mode", "FAST_RUN", "FAST_COMPILE", "DebugMode", "DEBUG_MODE", "NanGuardMode", "MonitorMode"),
    *(name.upper() for name in _BACKENDS),
)
_LINKERS = tuple(dict.fromkeys(("auto", "py", "vm", "vm_nogc", *LINKER_REQUIREMENTS, *_BACKENDS)))


def _one_of(setting: object, names: tuple[str, ...], *, capitals: bool) -> str:
    """Return the mode or linker of this name, in any capitals; those of installed backends count too."""
    if not isinstance(setting, str):
        raise TypeError(setting)
    installed = discover("treadle.backends")
    known = {name.lower(): name for name in (*(n.upper() if capitals else n for n in installed), *names)}
    if setting.lower() in known:
        return known[setting.lower()]
    if setting.lower() in _registered("predefined_modes" if capitals else "predefined_linkers"):
        return setting
    raise ValueError(setting)


def _registered(table: str) -> set[str]:
    """Return, in lower case, the names of modes or linkers, those of entry points included."""
    published = discover("treadle.modes") if table == "predefined_modes" else {}
    # Until the module is loaded, no program can have registered any.
    names = getattr(sys.modules.get("treadle.compile.mode"), table, ())
    return {str(name).lower() for name in (*names, *published)}


def _parse_mode(setting: object) -> Any:
    # A Mode is accepted too; its class is not imported here, so that reading an option does not import treadle.compile.
    return setting if callable(getattr(setting, "make_linker", None)) else _one_of(setting, _MODES, capitals=True)


def _parse_linker(setting: object) -> str:
    if isinstance(setting, str) and setting.lower() in _further_aliases(setting.lower()):
        return setting.lower()
    return _one_of(setting, _LINKERS, capitals=False)


def _further_aliases(name: str) -> set[str]:
    """Return the aliases of the installed backends, loading these; none for a name that is known anyway."""
    installed = discover("treadle.backends")
    if name in _LINKERS or name in installed:
        return set()
    aliases: set[str] = set()
    for entry in installed.values():
        try:
            aliases.update(getattr(entry.load(), "aliases", ()))
        except EntryPointLoadError:  # it is reported where backends are looked for
            continue
    return aliases


def _fastest_linker() -> str:
    """Return `auto`, which loads the backends to find the fastest; `vm` where there is no other."""
    return "auto" if len(discover("treadle.backends")) > 1 else "vm"


def _has_c() -> bool:
    """Whether there is a backend for nodes in C; where it does not work, they are left out."""
    return "c" in discover("treadle.backends")


def _parse_switch(setting: object) -> bool:
    words = {"on": True, "off": False}
    return words[setting.lower()] if isinstance(setting, str) and setting.lower() in words else BOOL.parse(setting)


def _tags(name: str, doc: str) -> Option[str]:
    return Option.string(name, default="", doc=doc, read_only=True, scoped=True)


SWITCH: Kind[bool] = Kind("bool", _parse_switch, "True or False (or 1, 0, true, false, on, off)")
MODE: Kind[object] = Kind(
    "mode", _parse_mode, "one of " + ", ".join(map(repr, _MODES)) + ", the name of another installed backend, or a Mode"
)
LINKER: Kind[str] = Kind(
    "linker", _parse_linker, "one of " + ", ".join(map(repr, _LINKERS)) + ", or the name of another installed backend"
)

_CHOICE: tuple[Option[object], ...] = (
    Option(
        "mode",
        "Mode",
        "The mode of functions that are compiled without one, in any capitals: Mode (made of the options linker and "
        "optimizer), FAST_RUN, FAST_COMPILE, DebugMode, NanGuardMode, MonitorMode, a backend's name, or one that was "
        "registered.",
        MODE,
    ),
    Option(
        "linker",
        _fastest_linker,
        "What links graphs in mode Mode: py (each op's own perform), vm (the Python VM), another installed backend, or "
        "one that was registered; _nogc keeps intermediate values. auto takes the fastest that works on this machine.",
        LINKER,
        default_text="auto where a backend is installed beside the Python VM, else vm",
    ),
    Option.enum(
        "optimizer",
        ("fast_run", "fast_compile", "merge", "None", "o1", "o2", "o3", "o4", "unsafe"),
        default="fast_run",
        doc="Rewrites of mode Mode: all (fast_run, o4), all but in-place (o3), these and unsafe ones (unsafe), few "
        "(fast_compile, o1), few and fusion (o2), common subexpressions only (merge), none (None).",
        read_only=True,
        scoped=True,
    ),
    _tags("optimizer_including", "Tags of rewrites to add to named modes, separated by ':'."),
    _tags("optimizer_excluding", "Tags of rewrites to leave out of named modes, separated by ':'."),
    _tags("optimizer_requiring", "Tags that the rewrites of named modes must carry, separated by ':'."),
    Option.enum(
        "on_unused_input",
        ("raise", "warn", "ignore"),
        default="raise",
        doc="What function() does about an input that no output or update uses.",
        affects_code=False,
    ),
    Option.boolean(
        "tiered",
        default=False,
        doc="Let functions run on the Python VM while they are compiled in the background. Modes that do something at "
        "each node, such as DebugMode and NanGuardMode, do not.",
        affects_code=False,
    ),
    Option.integer(
        "compile__background",
        default=2,
        doc="How many functions are compiled in the background at once, at most.",
        kind=_POSITIVE,
        affects_code=False,
    ),
    Option.boolean(
        "unpickle_function",
        default=True,
        doc="Compile functions again when they are unpickled. False gives None in place of each.",
        affects_code=False,
    ),
    Option.boolean(
        "cache__functions",
        default=True,
        doc="Keep compiled functions whole, so that a later process neither rewrites nor generates nor compiles. False "
        "keeps only what compilers made of generated code.",
        affects_code=False,
    ),
    Option.integer(
        "cache__programs",
        default=32,
        doc="How many compiled programs this process keeps for functions of equal graphs; 0 keeps none. Programs with "
        "more than a megabyte of constants are not kept.",
        kind=INT.where("an integer >= 0", lambda value: value >= 0),
        affects_code=False,
    ),
)

_PROFILE: tuple[Option[object], ...] = (
    tuple(
        Option.boolean(name, default=default, doc=doc, affects_code=False)
        for name, default, doc in (
            ("profile", False, "Measure where compiled functions spend their time."),
            ("profile_memory", False, "Measure their memory as well; only with profile."),
            ("profiling__min_peak_memory", False, "Tell the least possible peak of memory; only with profile_memory."),
            ("profiling__debugprint", False, "Print the graphs of the profiled functions."),
            ("profiling__ignore_first_call", False, "Leave the first call of each function out."),
            ("profiling__time_thunks", True, "Time each node, not only whole calls."),
            ("print_global_stats", False, "Print the times of all functions together at exit."),
        )
    )
    + tuple(
        Option.integer(name, default=default, doc=doc, kind=kind, affects_code=False)
        for name, default, doc, kind in (
            ("profiling__n_apply", 20, "How many nodes a profile lists.", _POSITIVE),
            ("profiling__n_ops", 20, "How many ops a profile lists.", _POSITIVE),
            (
                "profiling__min_memory_size",
                1024,
                "Nodes with outputs of fewer bytes are not listed.",
                INT.where("an integer >= 0", lambda value: value >= 0),
            ),
            ("profiling__output_line_width", 512, "Width of the profile's lines.", _POSITIVE),
        )
    )
    + (
        Option.string(
            "profiling__destination",
            default="stderr",
            doc="Where the profile goes: stderr, stdout, or a file's name.",
            affects_code=False,
        ),
        Option.string(
            "profiling__trace",
            default="",
            doc="File to write a trace of all profiled functions to at exit, in the Chrome trace format, which "
            "Perfetto and speedscope open. Empty for none.",
            affects_code=False,
        ),
        Option(
            "progress",
            True,
            "Show compilations that take over two seconds: on stderr, where that is a terminal, and in notebooks.",
            SWITCH,
            affects_code=False,
        ),
    )
)

_DEBUG_MODE: tuple[Option[object], ...] = (
    Option.string(
        "DebugMode__backends",
        default="",
        doc="Backends to run nodes and whole graphs on, beside C and the function's own, separated by ':'; all for "
        "every one that is installed.",
    ),
    Option.string(
        "DebugMode__check_preallocated_output",
        default="",
        doc="Kinds of memory, given beforehand for outputs, that each node is tried with, separated by ':'.",
        kind=subset("initial", "previous", "c_contiguous", "f_contiguous", "strided", "wrong_size", word_for_all="ALL"),
    ),
    Option.integer(
        "DebugMode__check_preallocated_output_ndim",
        default=4,
        doc="With strided: of how many innermost dimensions all combinations of strides are tried. At least 2 is wise.",
        kind=_POSITIVE,
    ),
    Option.integer(
        "DebugMode__patience",
        default=10,
        doc="How often the graph is rewritten anew to find results that differ.",
        kind=_POSITIVE,
    ),
    Option.integer(
        "DebugMode__check_strides",
        default=0,
        doc="What to do where the strides of two backends differ: nothing (0), warn (1), raise (2).",
        kind=INT.where("0, 1 or 2", lambda value: value in {0, 1, 2}),
    ),
    Option.boolean(
        "DebugMode__check_c",
        default=_has_c,
        doc="Run nodes in C.",
        default_text="True where a backend for C is installed; it is left out where it does not work",
    ),
    *(
        Option.boolean(f"DebugMode__{name}", default=True, doc=doc)
        for name, doc in (
            ("check_py", "Run nodes in Python."),
            ("check_finite", "Complain about results that are NaN or infinite."),
            ("warn_input_not_reused", "Warn of an op that says it works in place and does not."),
        )
    ),
    *(
        Option.boolean(f"NanGuardMode__{name}_is_error", default=True, doc=doc)
        for name, doc in (
            ("nan", "Whether NanGuardMode minds NaN."),
            ("inf", "Whether NanGuardMode minds infinities."),
            ("big", "Whether NanGuardMode minds values beyond 1e10."),
        )
    ),
    Option.enum(
        "NanGuardMode__action",
        ("raise", "warn", "pdb"),
        default="raise",
        doc="What NanGuardMode does about such a value.",
    ),
)

_VERSIONS = (
    *("None", "all", "0.3", "0.4", "0.4.1", "0.5", "0.6", "0.7", "0.8", "0.8.1", "0.8.2", "0.9", "0.10"),
    *("1.0", "1.0.1", "1.0.2", "1.0.3", "1.0.4", "1.0.5"),
)
_WITHOUT_MEANING: tuple[Option[object], ...] = (
    Option.enum(
        "device",
        ("cpu",),
        default="cpu",
        doc="The device to compute on.",
        read_only=True,
        affects_code=False,
        no_effect="The backend decides; one that can take several devices has an option of its own.",
    ),
    Option.boolean(
        "print_active_device",
        default=True,
        doc="Print the device when it is first used.",
        affects_code=False,
        no_effect="There is no device to be made ready.",
    ),
    Option.enum(
        "warn__ignore_bug_before",
        _VERSIONS,
        default="0.9",
        doc="Leave out warnings about mistakes that were corrected before that version; all leaves out all.",
        read_only=True,
        affects_code=False,
        no_effect="treadle has none of the mistakes that it was about.",
    ),
)

OPTIONS: tuple[Option[object], ...] = (*_CHOICE, *_PROFILE, *_DEBUG_MODE, *_WITHOUT_MEANING)
