# The CUDA stages. Their kernels are compiled if nvcc is found. The host code (plans, pools, ordering) is always compiled.
# REELMEND_CUDA: AUTO (if nvcc is found), ON (required), OFF.
#
# Custom commands call nvcc. CMake's CUDA language is not used, because it links and runs a program at configure time and
# needs the folder layout of NVIDIA's installers. ccache wraps nvcc, so that a second build folder takes seconds. libcuda is
# never linked: the static runtime loads it on first use, so a machine without a driver gets a clear message instead of a
# loader error.
set(REELMEND_CUDA "AUTO" CACHE STRING "CUDA stages: AUTO, ON or OFF")
set(REELMEND_CUDA_ARCHITECTURES "75;80;86;89;90;100;120" CACHE STRING "Compute capabilities with machine code")

function(reelmend_find_nvcc)
  foreach(folder IN ITEMS "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../.cache/cuda")
    if(folder STREQUAL "" OR NOT EXISTS "${folder}/bin/nvcc")
      continue()
    endif()
    execute_process(COMMAND "${folder}/bin/nvcc" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
    if(failed OR NOT text MATCHES "release ([0-9]+\\.[0-9]+)" OR CMAKE_MATCH_1 VERSION_LESS 12.8)
      continue()
    endif()
    set(version "${CMAKE_MATCH_1}")
    file(REAL_PATH "${folder}" folder)
    find_library(runtime NAMES libcudart_static.a PATHS "${folder}/lib64" "${folder}/lib" "${folder}/targets/x86_64-linux/lib"
      NO_DEFAULT_PATH NO_CACHE)
    if(runtime)
      set(REELMEND_NVCC "${folder}/bin/nvcc" PARENT_SCOPE)
      set(REELMEND_NVCC_VERSION "${version}" PARENT_SCOPE)
      set(REELMEND_CUDA_INCLUDE "${folder}/include" PARENT_SCOPE)
      set(REELMEND_CUDA_RUNTIME "${runtime}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

if(NOT REELMEND_CUDA STREQUAL "OFF")
  reelmend_find_nvcc()
endif()
set(REELMEND_NVCC_OF_BUILD "${REELMEND_NVCC}" CACHE INTERNAL "nvcc that this build folder was configured for")
if(NOT REELMEND_NVCC)
  if(REELMEND_CUDA STREQUAL "ON")
    message(FATAL_ERROR "REELMEND_CUDA is ON, but nvcc 12.8 or newer was not found; run scripts/setup-gpu or set CUDA_HOME.")
  endif()
  message(STATUS "Building without the CUDA stages: nvcc 12.8 or newer was not found (scripts/setup-gpu downloads it).")
  return()
endif()
message(STATUS "Building the CUDA stages with nvcc ${REELMEND_NVCC_VERSION} for ${REELMEND_CUDA_ARCHITECTURES}.")

set(reelmend_gencode "")
foreach(architecture IN LISTS REELMEND_CUDA_ARCHITECTURES)
  list(APPEND reelmend_gencode "-gencode=arch=compute_${architecture},code=sm_${architecture}")
endforeach()
list(GET REELMEND_CUDA_ARCHITECTURES -1 reelmend_newest)
list(APPEND reelmend_gencode "-gencode=arch=compute_${reelmend_newest},code=compute_${reelmend_newest}")  # PTX for newer GPUs

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/*.cu")
foreach(source IN LISTS cuda_sources)
  cmake_path(GET source STEM name)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/cuda"
    COMMAND ${REELMEND_COMPILER_LAUNCHER} "${REELMEND_NVCC}" -std=c++20 -O3 ${reelmend_gencode} -DREELMEND_CUDA
      -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror,-fPIC,-fvisibility=hidden
      "-I${CMAKE_CURRENT_SOURCE_DIR}/src" "-I${CMAKE_CURRENT_SOURCE_DIR}/include"
      -MD -MF "${object}.d" -c "${source}" -o "${object}"
    DEPENDS "${source}"
    DEPFILE "${object}.d"
    COMMENT "Building CUDA object ${name}.o"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  list(APPEND reelmend_objects "${object}")
endforeach()

target_compile_definitions(reelmend_cuda PRIVATE REELMEND_CUDA)
target_include_directories(reelmend_cuda SYSTEM PRIVATE "${REELMEND_CUDA_INCLUDE}")
target_link_libraries(reelmend_dependencies INTERFACE "${REELMEND_CUDA_RUNTIME}" ${CMAKE_DL_LIBS} rt)
