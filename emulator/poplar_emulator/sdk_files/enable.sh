# shellcheck shell=sh
# Makes the emulator stand in for the Poplar SDK in this shell: source .../enable.sh
#
# It sets what the SDK's enable.sh sets, so that compilers, linkers, CMake and programs find headers,
# libraries and popc. Shells that do not say which file they read ask poplar-emulator for its place.

if [ -n "${BASH_VERSION:-}" ]; then
  eval '_poplar_root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)'
elif [ -n "${ZSH_VERSION:-}" ]; then
  eval '_poplar_root=${${(%):-%x}:A:h}'
else
  _poplar_root=$(poplar-emulator --prefix)
fi

if [ "${POPLAR_SDK_ENABLED:-}" = "$_poplar_root" ]; then
  unset _poplar_root
elif [ -n "${POPLAR_SDK_ENABLED:-}" ]; then
  echo "enable.sh: the Poplar SDK $POPLAR_SDK_ENABLED is enabled: use a new shell for the emulator" >&2
  unset _poplar_root
  return 1
else
  export POPLAR_SDK_ENABLED="$_poplar_root"
  export PATH="$_poplar_root/bin${PATH:+:$PATH}"
  export CPATH="$_poplar_root/include${CPATH:+:$CPATH}"
  export LIBRARY_PATH="$_poplar_root/lib${LIBRARY_PATH:+:$LIBRARY_PATH}"
  export LD_LIBRARY_PATH="$_poplar_root/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export CMAKE_PREFIX_PATH="$_poplar_root${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}"
  unset _poplar_root
fi
