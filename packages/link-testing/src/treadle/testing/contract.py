"""The contract that every backend has to satisfy, checked in groups that are compiled as one function each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest

from treadle.config import TreadleError, config, dataclass
from treadle.graph import LoweringError
from treadle.testing.comparison import unowned
from treadle.testing.domain import Array
from treadle.testing.errors import ContractError
from treadle.testing.failures import FAILURES, Failure, run_failure
from treadle.testing.linking import Link, Program, compiled, find_backend, linked
from treadle.testing.parts import ForwardPart, Part, SlopePart, scalar_part, value_part
from treadle.testing.records import SAMPLES
from treadle.testing.sample import KINDS, MAJOR, OPTIONAL_DTYPES, REALS, VARIANTS, Sample, SampleTable

# The dtypes of each kind of check: all of them for values, representative ones for the others.
DTYPES: Mapping[str, tuple[str, ...]] = {
    "values": (*REALS, *OPTIONAL_DTYPES),
    "known": ("float64",),
    "once": ("float64",),
    "scalars": ("float64", "int64"),
    "rewritten": ("bool", "int64", "float64"),
    "first": ("float64", "complex128"),
    "second": ("float64", "complex128"),
    "forward": ("float64", "complex128"),
}
# Some backends compile again for each new shape, so only the major dtypes are checked with all of them.
FEW_VARIANTS = ("plain", "special", "strided", "reversed")
REWRITTEN_VARIANTS = ("plain", "broadcast", "empty", "special")
SHOWN = 40


@dataclass(frozen=True, slots=True)
class Check:
    """One kind of check of all samples of a family at one dtype.

    Parameters
    ----------
    family
        Name of the family.
    dtype
        Dtype of the operands.
    kind
        ``values`` (the graph as it is), ``known`` (with all lengths known), ``once`` (the same with one set of inputs
        only, for compilers that take seconds for each), ``scalars``, ``rewritten`` (through
        `treadle.compile.function`), ``first`` or ``second`` derivatives, ``forward`` for directional ones.
    only
        Name of the one sample to check; all if empty.
    without
        Names of samples to leave out.
    records
        The samples to choose from: by default those of treadle and of installed distributions.
    """

    family: str
    dtype: str
    kind: str
    only: str = ""
    without: tuple[str, ...] = ()
    records: SampleTable = field(default=SAMPLES, repr=False)

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants of inputs in this check."""
        if self.kind == "once":
            return ("plain",)
        if self.kind == "rewritten":
            return REWRITTEN_VARIANTS
        return VARIANTS if self.kind != "values" or self.dtype in MAJOR else FEW_VARIANTS

    def samples(self) -> list[Sample]:
        """Return the samples that are checked."""
        return [
            sample
            for sample in self.records.of(self.family)
            if _takes(sample, self.dtype)
            and _suits(sample, self.kind)
            and sample.name not in self.without
            and self.only in {"", sample.name}
        ]

    def part(self, sample: Sample) -> Part:
        """Return the inputs and outputs of a sample."""
        if self.kind == "scalars":
            return scalar_part(sample, self.dtype)
        if self.kind in {"first", "second"}:
            return SlopePart(sample, 1 if self.kind == "first" else 2, self.dtype)
        if self.kind == "forward":
            return ForwardPart(sample, self.dtype)
        return value_part(sample, self.dtype, known=self.kind in {"known", "once"})

    def __str__(self) -> str:
        """Show as ``arithmetic-float64-values``."""
        return f"{self.family}-{self.dtype}-{self.kind}" + (f"/{self.only}" if self.only else "")


def _takes(sample: Sample, dtype: str) -> bool:
    """Whether a sample is checked at a dtype; elementwise functions of float32 are also checked at float16."""
    return dtype in sample.dtypes or (dtype == "float16" and sample.any_rank and "float32" in sample.dtypes)


def _suits(sample: Sample, kind: str) -> bool:
    if kind == "forward":
        return bool(sample.wrt) and "first" in sample.kinds
    if kind not in sample.kinds and not (kind == "once" and sample.kinds == KINDS):
        return False
    if kind == "scalars":
        return sample.any_rank
    if kind in {"first", "second"}:
        return bool(sample.wrt) and sample.order >= (1 if kind == "first" else 2)
    return True


def checks(kinds: Sequence[str] = KINDS, records: Iterable[Sample] = SAMPLES) -> list[Check]:
    """Return all checks of some kinds, leaving out those without samples.

    Parameters
    ----------
    kinds
        Kinds of check.
    records
        The samples: by default those of treadle and of installed distributions.
    """
    table = records if isinstance(records, SampleTable) else SampleTable(*records)
    every = [
        Check(family, dtype, kind, records=table)
        for kind in kinds
        for family in table.families()
        for dtype in DTYPES[kind]
    ]
    return [check for check in every if check.samples()]


def _in_force(flags: Mapping[str, object] | None) -> AbstractContextManager[None]:
    """Return a context in which options are set, and Python functions in samples may be Python steps."""
    return config.change_flags(**{"on_python_step": "ignore", **(flags or {})})


def run_check(
    backend: str, check: Check, flags: Mapping[str, object] | None = None, may_refuse: Sequence[str] = OPTIONAL_DTYPES
) -> None:
    """Check a backend.

    All samples are compiled as one function. If that cannot be linked or called, each is compiled alone, to name those
    that fail.

    Parameters
    ----------
    backend
        Name of an installed backend.
    check
        What to check.
    flags
        Options to set, as for ``config.change_flags``.
    may_refuse
        Dtypes that the backend may refuse.

    Raises
    ------
    ContractError
        If results differ; the error lists all problems.
    """
    find_backend(backend)
    link = linked if check.kind in {"values", "known", "once", "scalars"} else compiled
    with _in_force(flags):
        parts, problems = _built(check)
        # Samples that a backend may refuse are compiled separately, so that the others stay one function.
        for optional in (False, True):
            group = [part for part in parts if part.sample.optional is optional]
            problems += _group_problems(backend, link, group, check.variants, may_refuse)
    if problems:
        lines = "\n  ".join(problems[:SHOWN])
        more = f"\n  and {len(problems) - SHOWN} more" if len(problems) > SHOWN else ""
        msg = f"{backend}: {check} does not keep the contract.\n  {lines}{more}"
        raise ContractError(msg)


def _built(check: Check) -> tuple[list[Part], list[str]]:
    """Return the parts, and a line for each sample that cannot be built."""
    parts, problems = [], []
    for sample in check.samples():
        try:
            parts.append(check.part(sample))
        except TreadleError as error:
            problems.append(f"{sample.name}[{check.dtype}]: {type(error).__name__}: {error}")
    return parts, problems


def _group_problems(
    backend: str, link: Link, parts: Sequence[Part], variants: Sequence[str], may_refuse: Sequence[str]
) -> list[str]:
    if not parts:
        return []
    try:
        return _problems(backend, link, parts, variants)
    except Exception as error:  # noqa: BLE001 - whatever a backend raises is its answer, and is reported
        if len(parts) == 1:
            refused = parts[0].sample.optional or parts[0].dtype in may_refuse
            return [] if refused and isinstance(error, LoweringError) else [_described(parts[0], error)]
        problems = [line for part in parts for line in _group_problems(backend, link, [part], variants, may_refuse)]
        if problems or isinstance(error, LoweringError):
            return problems
        return [f"the group fails, though every sample passes alone: {type(error).__name__}: {error}"]


def _described(part: Part, error: Exception) -> str:
    text = str(error).replace("\n", "\n    ")
    return f"{part.sample.name}[{part.dtype}]: {type(error).__name__}: {text}"


def _problems(backend: str, link: Link, parts: Sequence[Part], variants: Sequence[str]) -> list[str]:
    """Compile the parts as one function, call it with every variant, and judge the results."""
    inputs = [v for part in parts for v in part.inputs]
    outputs = [v for part in parts for v in part.outputs]
    run = link(backend, inputs, outputs)
    problems: list[str] = []
    failed: set[str] = set()
    for variant in variants:
        if not any(variant in part.variants for part in parts):
            continue
        arrays_of_parts = [part.arrays(variant if variant in part.variants else "plain") for part in parts]
        values = [x for arrays in arrays_of_parts for x in arrays]
        before = [x.copy() for x in values]
        results = list(run(*values))
        if len(results) != len(outputs):
            return [*problems, f"{len(results)} results, expected {len(outputs)}"]
        if any(not np.array_equal(x, y, equal_nan=x.dtype.kind in "fc") for x, y in zip(values, before, strict=True)):
            problems.append(f"an input was changed ({variant})")
        judged = _judged(parts, variant, arrays_of_parts, results)
        # Report each sample for the first variant that fails only.
        problems += [line for name, line in judged if name not in failed]
        failed.update(name for name, _ in judged)
        if variant == "plain":
            problems += _ownership(parts, run, values, results)
    return problems


def _judged(
    parts: Sequence[Part], variant: str, arrays_of_parts: Sequence[Sequence[Array]], results: Sequence[Array]
) -> list[tuple[str, str]]:
    """Return the name of the sample and a line of text for each problem."""
    problems = []
    at = 0
    for part, arrays in zip(parts, arrays_of_parts, strict=True):
        part_results = results[at : at + len(part.outputs)]
        at += len(part.outputs)
        if variant in part.variants:
            problems += [
                (part.sample.name, f"{part.sample.name}[{part.dtype}] {variant}: {problem}")
                for problem in part.problems(variant, arrays, part_results)
            ]
    return problems


def _ownership(parts: Sequence[Part], run: Program, values: Sequence[Array], results: Sequence[Array]) -> list[str]:
    """Check that the caller owns the results, and that a second call gives the same after they are overwritten."""
    names = [part.sample.name for part in parts for _ in part.outputs]
    problems = [f"{names[at]}: {problem}" for at, problem in unowned(results, values)]
    if problems:
        return problems
    first = [x.copy() for x in results]
    for x in results:
        x.fill(77)
    second = list(run(*values))
    for name, a, b, old in zip(names, first, second, results, strict=True):
        if not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            problems.append(f"{name}: a second call gives another result")
        elif old.size and np.any(old != 77 if old.dtype != bool else ~old):
            problems.append(f"{name}: a second call writes into the first one's result")
    return problems


def contract(
    backend: str,
    kinds: Sequence[str] = KINDS,
    gaps: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    records: Iterable[Sample] = SAMPLES,
) -> list[Any]:
    """Return the contract of a backend as pytest parameters: (backend, check, flags).

    Parameters
    ----------
    backend
        Name of an installed backend.
    kinds
        Kinds of check.
    gaps
        Known gaps: pattern of ``family-dtype-kind/sample`` (as in fnmatch) to the reason. Such a sample is left
        out of its group, checked alone, and expected to fail.
    flags
        Options to set.
    records
        The samples to check: by default those of treadle and of installed distributions.

    Examples
    --------
    >>> @pytest.mark.parametrize(("backend", "check", "flags"), contract("mine"))  # doctest: +SKIP
    ... def test_my_backend_keeps_the_contract(backend, check, flags):
    ...     run_check(backend, check, flags)
    """
    known = gaps or {}
    parameters = []
    for check in checks(kinds, records):
        named = {sample.name: _reason(f"{check}/{sample.name}", known) for sample in check.samples()}
        without = tuple(name for name, reason in named.items() if reason)
        group = replace(check, without=without)
        if group.samples():
            parameters.append(pytest.param(backend, group, flags, id=f"{backend}-{check}"))
        for name in without:
            alone = replace(check, only=name)
            mark = pytest.mark.xfail(reason=named[name], strict=True)
            parameters.append(pytest.param(backend, alone, flags, id=f"{backend}-{alone}", marks=mark))
    return parameters


def contract_tests(
    backend: str,
    kinds: Sequence[str] = KINDS,
    gaps: Mapping[str, str] | None = None,
    flags: Mapping[str, object] | None = None,
    records: Iterable[Sample] = SAMPLES,
) -> type:
    """Return the contract of a backend, failures included, as a class of tests.

    Parameters are those of `contract`; a gap of a failure is ``failures/name``.

    Examples
    --------
    In the test-suite of a backend, this line is enough::

        TestContract = contract_tests("mine")

    In the test-suite of a library of ops, this line is enough for each backend::

        TestOpsOnNumba = contract_tests("numba", records=MY_SAMPLES)
    """
    known = gaps or {}
    failing = []
    for failure in FAILURES:
        reason = _reason(f"failures/{failure.name}", known)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        failing.append(pytest.param(failure, id=failure.name, marks=marks))

    class TestContract:
        """What every backend must do."""

        @pytest.mark.parametrize(("name", "check", "options"), contract(backend, kinds, gaps, flags, records))
        def test_results_are_those_of_numpy(
            self, name: str, check: Check, options: Mapping[str, object] | None
        ) -> None:
            run_check(name, check, options)

        @pytest.mark.parametrize("failure", failing)
        def test_failure_names_op_and_line(self, failure: Failure) -> None:
            with _in_force(flags):
                run_failure(backend, failure)

    return TestContract


def _reason(name: str, gaps: Mapping[str, str]) -> str:
    return next((reason for pattern, reason in gaps.items() if fnmatchcase(name, pattern)), "")
