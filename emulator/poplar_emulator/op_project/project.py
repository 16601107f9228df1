"""The folder of a custom op: op.json with the shapes of its test, and the builds of its parts."""

from __future__ import annotations

from pathlib import Path
from typing import List, NamedTuple, Optional, Sequence, Tuple

from ipulse_core.build_cache.toolchain import compiler, run_compiler
from ipulse_core.op_manifest.manifest import FILE, OpManifest, OpTensor, shape_of
from ipulse_core.op_manifest.reader import parse_manifest
from poplar_emulator.build import POPC, build, program_flags

# Without contraction, a kernel gives the same bits on every processor.
KERNEL_FLAGS = ("-std=c++17", "-O3", "-ffp-contract=off", "-shared", "-fPIC")
LIBRARY_FLAGS = ("-O1", "-shared", "-fPIC")


class TestedTensor(NamedTuple):
    """An input, weight or output of the op in its test."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    minimum: Optional[float] = None  # of a weight
    maximum: Optional[float] = None


class OpProject(NamedTuple):
    """A folder with a custom op."""

    folder: Path
    manifest: OpManifest
    inputs: List[TestedTensor]  # then the weights
    outputs: List[TestedTensor]

    def build_poplar(self, scratch: Path) -> Tuple[Path, str]:
        """Compile the Poplar parts; return the paths of library and codelets, "" without them."""
        prefix = build()
        library = scratch / f"lib{self.manifest.name}.so"
        folder, flags = str(self.folder), program_flags(prefix)
        run_compiler(library_command(self.manifest, folder, flags, str(library)))
        if not self.manifest.codelets:
            return library, ""
        codelets = str(scratch / f"{self.manifest.name}.gp")
        run_compiler(codelets_command(self.manifest, folder, str(prefix / POPC), codelets))
        return library, codelets

    def build_kernel(self, scratch: Path) -> Path:
        """Compile the kernel for CPUs and return the path of its library."""
        library = scratch / f"lib{self.manifest.name}_kernel.so"
        run_compiler(kernel_command(self.manifest, str(self.folder), str(library)))
        return library


def kernel_command(manifest: OpManifest, folder: str, out: str) -> List[str]:
    """Return the command that compiles the kernel of the op in a folder."""
    sources = [f"{folder}/{name}" for name in manifest.kernel]
    return [*compiler(), *KERNEL_FLAGS, *sources, f"-I{folder}", "-o", out]


def library_command(manifest: OpManifest, folder: str, flags: Sequence[str], out: str) -> List[str]:
    """Return the command that compiles the Poplar host part. flags: of the emulator or an SDK."""
    sources = [f"{folder}/{name}" for name in manifest.sources]
    return [*compiler(), *LIBRARY_FLAGS, *sources, f"-I{folder}", "-o", out, *flags]


def codelets_command(manifest: OpManifest, folder: str, popc: str, out: str) -> List[str]:
    """Return the command that compiles the codelets with a popc."""
    listed = [f"{folder}/{name}" for name in manifest.codelets]
    return [popc, "-O3", *listed, "-o", out]


def read_project(folder: Path) -> OpProject:
    """Read and check op.json. Raises InvalidInput with the places of all mistakes; OSError."""
    content = (folder / FILE).read_bytes()
    manifest = parse_manifest(content, lambda name: (folder / name).is_file())

    def tested(tensors: List[OpTensor]) -> List[TestedTensor]:
        sizes = manifest.test_sizes
        return [TestedTensor(t.name, t.dtype, shape_of(t, sizes)) for t in tensors]

    entering = tested(manifest.inputs)
    for weight, tensor in zip(manifest.weights, tested(manifest.entering)[len(entering) :]):
        entering.append(tensor._replace(minimum=weight.minimum, maximum=weight.maximum))
    return OpProject(folder, manifest, entering, tested(manifest.outputs))
