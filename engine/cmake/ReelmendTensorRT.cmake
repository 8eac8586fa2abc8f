# The modules for TensorRT and TensorRT-RTX: one source, compiled for each variant whose headers are present
# (scripts/setup-tensorrt, or TENSORRT_ROOT for full TensorRT). The modules are not linked with TensorRT's libraries
# (reasons: src/inference/tensorrt/tensorrt_backend.cc). Downloaded libraries are copied beside the modules. Without headers
# the engine still builds. If a network should then run on a GPU, it reports in one sentence what is missing.

# Sanitizers report false errors in libraries that were built without them.
if(REELMEND_SANITIZE)
  return()
endif()

if(CMAKE_LIBRARY_OUTPUT_DIRECTORY)
  set(reelmend_tensorrt_dir "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/tensorrt")
else()
  set(reelmend_tensorrt_dir "${CMAKE_BINARY_DIR}/tensorrt")
endif()
set(reelmend_tensorrt_root "${CMAKE_CURRENT_LIST_DIR}/../../.cache/tensorrt")
file(REAL_PATH "${reelmend_tensorrt_root}" reelmend_tensorrt_root)

# The parts that this build folder was configured for. scripts/build-native configures again when they change.
set(parts "")
foreach(part IN ITEMS include rtx full)
  if(EXISTS "${reelmend_tensorrt_root}/${part}/.installed")
    string(APPEND parts "+${part}")
  endif()
endforeach()
set(REELMEND_TENSORRT_OF_BUILD "parts${parts}+$ENV{TENSORRT_ROOT}" CACHE INTERNAL "parts of TensorRT that this build folder was configured for")

# Arguments: name of the module, folder of NvInfer.h, folder of libraries, definitions
function(reelmend_tensorrt_module name headers libraries)
  if(NOT EXISTS "${headers}/NvInfer.h")
    message(STATUS "Skipping ${name}: its headers were not found (scripts/setup-tensorrt downloads them).")
    return()
  endif()
  add_library(${name} MODULE "${CMAKE_CURRENT_SOURCE_DIR}/src/inference/tensorrt/tensorrt_backend.cc"
    "${CMAKE_CURRENT_SOURCE_DIR}/src/error.cc")
  reelmend_settings(${name})
  target_compile_definitions(${name} PRIVATE ${ARGN})
  # TensorRT's headers need only the type names of CUDA's streams and events.
  if(REELMEND_CUDA_INCLUDE)
    set(cuda_headers "${REELMEND_CUDA_INCLUDE}")
  else()
    set(cuda_headers "${reelmend_tensorrt_root}/include")
  endif()
  target_include_directories(${name} SYSTEM PRIVATE "${headers}" "${cuda_headers}")
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" BUILD_WITH_INSTALL_RPATH ON
    INSTALL_RPATH "$ORIGIN:${libraries}" LIBRARY_OUTPUT_DIRECTORY "${reelmend_tensorrt_dir}")
  file(GLOB found "${libraries}/lib*.so*")
  if(NOT libraries STREQUAL "" AND libraries MATCHES "/\\.cache/")
    foreach(file IN LISTS found)
      cmake_path(GET file FILENAME file_name)
      # Uses hard links if the file system supports them.
      add_custom_command(OUTPUT "${reelmend_tensorrt_dir}/${file_name}"
        COMMAND sh -c "mkdir -p \"$2\" && { ln -fL \"$1\" \"$2/\" 2>/dev/null || cp -fL \"$1\" \"$2/\"; }"
          -- "${file}" "${reelmend_tensorrt_dir}"
        DEPENDS "${file}" VERBATIM)
      list(APPEND copies "${reelmend_tensorrt_dir}/${file_name}")
    endforeach()
    if(copies)
      add_custom_target(${name}_libraries ALL DEPENDS ${copies})
      add_dependencies(${name} ${name}_libraries)
    endif()
  endif()
endfunction()

reelmend_tensorrt_module(reelmend_tensorrt_rtx "${reelmend_tensorrt_root}/include/rtx" "${reelmend_tensorrt_root}/rtx"
  REELMEND_TENSORRT_RTX)
if(DEFINED ENV{TENSORRT_ROOT} AND EXISTS "$ENV{TENSORRT_ROOT}/include")
  file(GLOB_RECURSE found "$ENV{TENSORRT_ROOT}/include/NvInfer.h")
  list(GET found 0 found)
  cmake_path(GET found PARENT_PATH found)
  reelmend_tensorrt_module(reelmend_tensorrt "${found}" "$ENV{TENSORRT_ROOT}/lib")
else()
  reelmend_tensorrt_module(reelmend_tensorrt "${reelmend_tensorrt_root}/include/full" "${reelmend_tensorrt_root}/full")
endif()
