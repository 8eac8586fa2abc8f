# The module that is linked with OpenVINO, in one folder with the libraries that it needs (reasons:
# src/inference/openvino_module.h). OpenVINO_DIR is the folder of OpenVINO's CMake package (scripts/setup-openvino installs
# it). Without OpenVINO the engine still builds, and reports in one sentence that it cannot run networks.

# Sanitizers report false errors in libraries that were built without them.
if(REELMEND_SANITIZE)
  return()
endif()
find_package(OpenVINO QUIET COMPONENTS Runtime)
if(NOT OpenVINO_FOUND)
  message(STATUS "OpenVINO was not found: networks will not run (scripts/setup-openvino installs it).")
  return()
endif()

if(CMAKE_LIBRARY_OUTPUT_DIRECTORY)
  set(reelmend_module_dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/openvino")
else()
  set(reelmend_module_dir "${CMAKE_BINARY_DIR}/openvino")
endif()

file(GLOB openvino_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/inference/openvino/*.cc")
add_library(reelmend_openvino MODULE ${openvino_sources} "${CMAKE_CURRENT_SOURCE_DIR}/src/error.cc")
reelmend_settings(reelmend_openvino)
target_link_libraries(reelmend_openvino PRIVATE openvino::runtime)
set_target_properties(reelmend_openvino PROPERTIES
  PREFIX "" SUFFIX ".so" BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN"
  LIBRARY_OUTPUT_DIRECTORY "${reelmend_module_dir}")

# The only plugins and front ends that the engine needs: those for CPUs and for ONNX.
get_target_property(openvino_location openvino::runtime IMPORTED_LOCATION_RELEASE)
cmake_path(GET openvino_location PARENT_PATH openvino_libs)
file(GLOB openvino_files
  "${openvino_libs}/libopenvino.so.*" "${openvino_libs}/libopenvino_onnx_frontend.so.*"
  "${openvino_libs}/libopenvino_intel_cpu_plugin.so" "${openvino_libs}/libopenvino_arm_cpu_plugin.so"
  "${openvino_libs}/libtbb.so.*" "${openvino_libs}/libtbbmalloc.so.*" "${openvino_libs}/libhwloc.so.*")
foreach(file IN LISTS openvino_files)
  cmake_path(GET file FILENAME name)
  # Uses hard links if the file system supports them: with copies, each build folder would take 90 MB.
  add_custom_command(OUTPUT "${reelmend_module_dir}/${name}"
    COMMAND sh -c "mkdir -p \"$2\" && { ln -fL \"$1\" \"$2/\" 2>/dev/null || cp -fL \"$1\" \"$2/\"; }"
      -- "${file}" "${reelmend_module_dir}"
    DEPENDS "${file}" VERBATIM)
  list(APPEND openvino_copies "${reelmend_module_dir}/${name}")
endforeach()

# The face detector's files (scripts/setup-faces) are copied into the same folder. Without them, a job that requests face
# restoration fails with one sentence.
set(REELMEND_FACES_DIR "${CMAKE_CURRENT_LIST_DIR}/../../.cache/faces" CACHE PATH "Folder of pnet, rnet and onet .onnx")
foreach(name IN ITEMS pnet rnet onet)
  set(file "${REELMEND_FACES_DIR}/${name}.onnx")
  if(NOT EXISTS "${file}")
    message(STATUS "No face detector in ${REELMEND_FACES_DIR}: faces will not be restored (scripts/setup-faces downloads it).")
    break()
  endif()
  add_custom_command(OUTPUT "${reelmend_module_dir}/${name}.onnx"
    COMMAND "${CMAKE_COMMAND}" -E copy "${file}" "${reelmend_module_dir}/${name}.onnx" DEPENDS "${file}" VERBATIM)
  list(APPEND openvino_copies "${reelmend_module_dir}/${name}.onnx")
endforeach()
add_custom_target(reelmend_openvino_libraries ALL DEPENDS ${openvino_copies})
add_dependencies(reelmend_openvino reelmend_openvino_libraries)
