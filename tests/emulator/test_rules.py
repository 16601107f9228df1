"""Each rule of the device that the emulator enforces is broken once and raises its error class."""

from __future__ import annotations

from typing import Callable, Dict, Tuple

import pytest

# The error class of each case of programs/rules.cpp, and words of its message.
ERRORS: Dict[str, Tuple[str, ...]] = {
    "nothing": ("no error",),
    "unmapped_tensor": ("invalid_tile_mapping", "'lost'", "'in'"),
    "unmapped_vertex": ("invalid_tile_mapping", "'Sum'"),
    "unmapped_copy": ("invalid_tile_mapping",),
    "tensor_tile_out_of_range": ("invalid_tile_mapping", "tile 4", "4 tiles"),
    "vertex_tile_out_of_range": ("invalid_tile_mapping", "tile 4"),
    "virtual_tile_out_of_range": ("invalid_tile_mapping", "tile 2"),
    "element_on_two_tiles": ("invalid_tile_mapping", "twice"),
    "two_writers": ("graph_cycle_error", "'cs'", "'s'", "two vertices"),
    "writer_and_reader": ("graph_cycle_error", "read by another"),
    "unknown_vertex": ("unknown_vertex_type", "'Product'"),
    "template_not_instantiated": ("unknown_vertex_type", "tests::Scale<int,true>"),
    "unknown_field": ("unknown_field", "'input'"),
    "unconnected_field": ("graph_connection_error", "'out'"),
    "wrong_type": ("type_error", "float", "half"),
    "vector_to_scalar": ("graph_connection_error", "scalar"),
    "matrix_to_vector": ("graph_connection_error", "{2,4}"),
    "connected_twice": ("graph_connection_error", "'in'", "already"),
    "element_connected_twice": ("graph_connection_error", "element 0", "'rows'", "already"),
    "element_never_connected": ("graph_connection_error", "'rows'", "no tensor"),
    "size_not_kept": ("graph_connection_error", "size 2", "4 tensors"),
    "scalar_has_no_size": ("graph_connection_error", "'out'", "scalar"),
    "constant_of_other_size": ("tensor_creation_error", "3 elements", "2 values"),
    "initial_value_of_other_size": ("graph_connection_error", "3 values"),
    "cross_replica_copy": ("control_program_error", "names replica 1", "there are 1"),
    "unknown_intrinsic": ("link_error", "__builtin_ipu_no_such_thing", "#ifdef __IPU__"),
    "unknown_register": ("link_error", "register of a tile is not emulated", "TileConstants.hpp"),
    "inline_assembly": ("link_error", "assembly of a tile", "between #ifdef __IPU__ and #else"),
    "graph_as_json": ("poplar_error", "JSON is not emulated"),
    "value_into_edge": ("graph_connection_error", "connect"),
    "scalar_into_a_row_of_values": ("graph_connection_error", "'rows'", "is a vector"),
    "tensor_into_value": ("graph_connection_error", "setInitialValue"),
    "output_to_constant": ("graph_connection_error", "constant"),
    "output_twice_the_same": ("index_error",),
    "output_with_aliases": ("graph_connection_error", "twice"),
    "short_span_too_long": ("memory_elem_constraints_error", "2047"),
    "copy_of_other_size": ("control_program_error",),
    "copy_of_other_type": ("type_error",),
    "copy_to_constant": ("control_program_error", "constant"),
    "slice_out_of_range": ("index_error", "[4,9)"),
    "index_out_of_range": ("index_error",),
    "reshape_to_other_size": ("tensor_creation_error", "{8}"),
    "concat_of_other_types": ("tensor_creation_error", "float", "int"),
    "concat_of_two_graphs": ("tensor_creation_error", "two graphs"),
    "copy_of_another_graph": ("graph_connection_error", "a float{8}", "another graph"),
    "field_of_another_graph": ("graph_connection_error", "another graph"),
    "mapping_of_another_graph": ("graph_connection_error", "another graph"),
    "default_tensor": ("tensor_creation_error",),
    "missing_codelet_file": ("file_load_error", "none.cpp"),
    "assembly_codelet": ("file_load_error", "assembly"),
    "codelets_of_another_popc": ("graph_object_load_error", "libm.so.6", "compile its codelets"),
    "codelet_writes_input": ("link_error", ("read-only", "const")),  # by g++, by clang++
    "one_ptr_has_no_size": ("link_error", "size"),
    "codelet_defined_twice": ("graph_object_load_error", "'Sum'"),
    "unknown_option": ("invalid_option", "no.such.option"),
    "interleaved_memory": ("memory_elem_constraints_error", "tile 3", "440000", "425984"),
    "out_of_memory": ("graph_memory_allocation_error", "Tile 3", "'big' 800000 bytes"),
    "out_of_memory_allowed": ("no error",),
    "run_before_load": ("runtime_error", "load"),
    "no_such_program": ("control_program_error", "program 1"),
    "stream_not_connected": ("stream_connection_error", "'in'"),
    "stream_of_other_size": ("stream_connection_error", "7"),
    "stream_backwards": ("stream_connection_error", "direction"),
    "stream_twice": ("stream_connection_error", "exists"),
    "no_such_handle": ("stream_connection_error", "'x'"),
    "read_of_other_size": ("stream_connection_error", "32 bytes"),
    "float_predicate": ("control_program_error", "bool"),
    "abort": ("application_runtime_error", "no further"),
    "unknown_ipu": ("invalid_machine_model", "ipu9"),
    "no_effect_in_the_model": ("invalid_machine_model", "instructionBytes"),
    "attached_elsewhere": ("poplar_error", "as it should be"),
    "not_attached": ("runtime_error", "attach"),
    "damaged_executable": ("parse_error",),
    "replicas": ("graph_replication_error",),
}


@pytest.mark.sample(25)
@pytest.mark.parametrize("case", sorted(ERRORS))
def test_a_broken_rule_raises_its_error_class(run_program: Callable, case: str) -> None:
    done = run_program("rules", case)
    lines = done.stdout.splitlines()
    assert lines, done.stderr
    expected, *words = ERRORS[case]
    assert lines[0] == expected, done.stdout
    for word in words:
        ways = (word,) if isinstance(word, str) else word
        assert any(way in done.stdout for way in ways), done.stdout


def test_every_case_of_the_program_is_listed(run_program: Callable) -> None:
    assert run_program("rules").stdout.split() == sorted(ERRORS)
