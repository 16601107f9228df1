# Defines the emulator's libraries as imported targets with the names of the SDK's.

get_filename_component(_poplar_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

foreach(_poplar_name @LIBRARIES@)
  if(NOT TARGET ${_poplar_name})
    add_library(${_poplar_name} SHARED IMPORTED)
    set_target_properties(${_poplar_name} PROPERTIES
      IMPORTED_LOCATION "${_poplar_prefix}/lib/lib${_poplar_name}.so"
      IMPORTED_SONAME "lib${_poplar_name}.so"
      INTERFACE_INCLUDE_DIRECTORIES "${_poplar_prefix}/include")
  endif()
endforeach()
@NEEDS@
if(NOT TARGET popc_bin)
  add_executable(popc_bin IMPORTED)
  set_target_properties(popc_bin PROPERTIES IMPORTED_LOCATION "${_poplar_prefix}/bin/popc")
endif()

unset(_poplar_name)
unset(_poplar_prefix)
