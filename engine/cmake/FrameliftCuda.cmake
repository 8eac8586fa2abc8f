# The CUDA stages: their machine code is made by nvcc where there is one, and everything else of them (plans, rings,
# order) is built in any case. FRAMELIFT_CUDA: AUTO (where nvcc is found), ON (required), OFF.
#
# nvcc is called by custom commands, not through CMake's CUDA language: that one wants to link and run a program at
# configure time, with a toolkit laid out as NVIDIA's installers do. ccache stands before nvcc, so that a second build
# folder costs seconds. libcuda is never linked: the static runtime loads it when it is first used, and a machine
# without a driver gets a sentence instead of a loader's error.
set(FRAMELIFT_CUDA "AUTO" CACHE STRING "CUDA stages: AUTO, ON or OFF")
set(FRAMELIFT_CUDA_ARCHITECTURES "75;80;86;89;90;100;120" CACHE STRING "Compute capabilities with machine code")

function(framelift_find_nvcc)
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
      set(FRAMELIFT_NVCC "${folder}/bin/nvcc" PARENT_SCOPE)
      set(FRAMELIFT_NVCC_VERSION "${version}" PARENT_SCOPE)
      set(FRAMELIFT_CUDA_INCLUDE "${folder}/include" PARENT_SCOPE)
      set(FRAMELIFT_CUDA_RUNTIME "${runtime}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

if(NOT FRAMELIFT_CUDA STREQUAL "OFF")
  framelift_find_nvcc()
endif()
set(FRAMELIFT_NVCC_OF_BUILD "${FRAMELIFT_NVCC}" CACHE INTERNAL "nvcc that this folder was configured for")
if(NOT FRAMELIFT_NVCC)
  if(FRAMELIFT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "The CUDA stages were asked for, but there is no nvcc of 12.8 or newer; run scripts/setup-gpu or set CUDA_HOME.")
  endif()
  message(STATUS "The engine is built without its CUDA stages: no nvcc of 12.8 or newer was found (scripts/setup-gpu fetches one).")
  return()
endif()
message(STATUS "The engine is built with its CUDA stages, by nvcc ${FRAMELIFT_NVCC_VERSION} for ${FRAMELIFT_CUDA_ARCHITECTURES}.")

set(framelift_gencode "")
foreach(architecture IN LISTS FRAMELIFT_CUDA_ARCHITECTURES)
  list(APPEND framelift_gencode "-gencode=arch=compute_${architecture},code=sm_${architecture}")
endforeach()
list(GET FRAMELIFT_CUDA_ARCHITECTURES -1 framelift_newest)
list(APPEND framelift_gencode "-gencode=arch=compute_${framelift_newest},code=compute_${framelift_newest}")  # for GPUs to come

file(GLOB cuda_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/cuda/*.cu")
foreach(source IN LISTS cuda_sources)
  cmake_path(GET source STEM name)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_CURRENT_BINARY_DIR}/cuda"
    COMMAND ${FRAMELIFT_CCACHE} "${FRAMELIFT_NVCC}" -std=c++20 -O3 ${framelift_gencode} -DFRAMELIFT_CUDA
      -Werror all-warnings -Xcompiler=-Wall,-Wextra,-Werror,-fPIC,-fvisibility=hidden
      "-I${CMAKE_CURRENT_SOURCE_DIR}/src" "-I${CMAKE_CURRENT_SOURCE_DIR}/include"
      -MD -MF "${object}.d" -c "${source}" -o "${object}"
    DEPENDS "${source}"
    DEPFILE "${object}.d"
    COMMENT "Building CUDA object ${name}.o"
    VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  list(APPEND framelift_objects "${object}")
endforeach()

target_compile_definitions(framelift_cuda PRIVATE FRAMELIFT_CUDA)
target_include_directories(framelift_cuda SYSTEM PRIVATE "${FRAMELIFT_CUDA_INCLUDE}")
target_link_libraries(framelift_dependencies INTERFACE "${FRAMELIFT_CUDA_RUNTIME}" ${CMAKE_DL_LIBS} rt)
