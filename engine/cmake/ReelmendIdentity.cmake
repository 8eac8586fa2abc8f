# The identity of this engine: a hash of everything that affects its output. EngineVersion() contains it, so that pieces of
# different engines are never joined. The build recomputes it when one of these files changes.

file(GLOB_RECURSE identity_files CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}"
  "${CMAKE_CURRENT_SOURCE_DIR}/src/*" "${CMAKE_CURRENT_SOURCE_DIR}/include/*" "${CMAKE_CURRENT_SOURCE_DIR}/cmake/*"
  "${CMAKE_CURRENT_SOURCE_DIR}/models/*.onnx")
list(APPEND identity_files CMakeLists.txt models/manifest.json)
list(TRANSFORM identity_files PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" OUTPUT_VARIABLE identity_paths)

# Results differ between compilers and between versions of OpenVINO.
set(identity_tools "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_SYSTEM_PROCESSOR} OpenVINO ${OpenVINO_VERSION}")
set(identity_folder "${CMAKE_CURRENT_BINARY_DIR}/identity")
# The list is passed in a file, because it is too long for a command line.
set(identity_list "${CMAKE_CURRENT_BINARY_DIR}/identity.txt")
list(JOIN identity_files "\n" identity_lines)
file(CONFIGURE OUTPUT "${identity_list}" CONTENT "${identity_lines}" @ONLY)

add_custom_command(
  OUTPUT "${identity_folder}/engine_identity.h"
  COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}" "-DLIST=${identity_list}" "-DTOOLS=${identity_tools}"
    "-DOUTPUT=${identity_folder}/engine_identity.h" -P "${CMAKE_CURRENT_LIST_DIR}/WriteIdentity.cmake"
  DEPENDS ${identity_paths} "${identity_list}"
  COMMENT "Hashing the engine"
  VERBATIM)
target_sources(reelmend_base PRIVATE "${identity_folder}/engine_identity.h")
target_include_directories(reelmend_base PRIVATE "${identity_folder}")
