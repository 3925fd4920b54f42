"""treadle.link.vm: the interface of linkers and programs, and the Python VM."""

from typing import TYPE_CHECKING

from treadle.config import package_folders, versioned_names

if TYPE_CHECKING:
    from treadle.link.vm.backend import BACKEND
    from treadle.link.vm.generation import generate, sharing_outputs, unsafe_overwrites
    from treadle.link.vm.interface import (
        Backend,
        ExportedInput,
        ExportedOutput,
        ExportRequest,
        ExportUnsupportedError,
        Later,
        OwnReferences,
        Program,
        ProgramGraph,
        UpdatingText,
    )
    from treadle.link.vm.interrupts import WATCH
    from treadle.link.vm.linker import ProgramLinker
    from treadle.link.vm.machine import PythonLinker, ReferenceLinker, evaluate
    from treadle.link.vm.nodewise_linker import NodewiseLinker
    from treadle.link.vm.pools import pool_limit
    from treadle.link.vm.programs import (
        TABLE,
        VMProgram,
        link_node_by_node,
        link_one_node,
        lower_node,
        replay,
        vm_scope,
    )
    from treadle.link.vm.segmentation import Segment, WrongLengthWarning, in_segments, link_in_segments, segments
    from treadle.link.vm.table_linker import NativeEnds, PythonStepWarning, RuleLinker, TableLinker, passes_by

    __version__: str
else:
    # Each module is loaded when one of its names is first asked for.
    __getattr__ = versioned_names(
        __name__,
        "graph-core",
        {
            "treadle.link.vm.backend": "BACKEND",
            "treadle.link.vm.generation": "generate sharing_outputs unsafe_overwrites",
            "treadle.link.vm.interface": (
                "Backend ExportedInput ExportedOutput ExportRequest ExportUnsupportedError Later OwnReferences Program "
                "ProgramGraph UpdatingText"
            ),
            "treadle.link.vm.interrupts": "WATCH",
            "treadle.link.vm.linker": "ProgramLinker",
            "treadle.link.vm.machine": "PythonLinker ReferenceLinker evaluate",
            "treadle.link.vm.nodewise_linker": "NodewiseLinker",
            "treadle.link.vm.pools": "pool_limit",
            "treadle.link.vm.programs": "TABLE VMProgram link_node_by_node link_one_node lower_node replay vm_scope",
            "treadle.link.vm.segmentation": "Segment WrongLengthWarning in_segments link_in_segments segments",
            "treadle.link.vm.table_linker": "NativeEnds PythonStepWarning RuleLinker TableLinker passes_by",
        },
    )

__all__ = [
    "BACKEND", "TABLE", "WATCH", "Backend", "ExportRequest", "ExportUnsupportedError", "ExportedInput",
    "ExportedOutput", "Later", "NativeEnds", "NodewiseLinker", "OwnReferences", "Program", "ProgramGraph",
    "ProgramLinker", "PythonLinker", "PythonStepWarning", "ReferenceLinker", "RuleLinker", "Segment", "TableLinker",
    "UpdatingText",
    "VMProgram", "WrongLengthWarning", "evaluate", "generate", "in_segments", "link_in_segments", "link_node_by_node",
    "link_one_node", "lower_node", "passes_by", "pool_limit", "replay", "segments", "sharing_outputs",
    "unsafe_overwrites", "vm_scope",
]  # fmt: skip

# Other distributions may bring modules of the package.
__path__ = package_folders(__name__)
