# Build type, sanitizers, compiler cache, and the settings that every target of the engine shares.

get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT is_multi_config)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# All checkouts on a machine share the compiler cache: ccache makes paths below the checkout relative, and compares
# precompiled headers by content (ccache's manual, "Precompiled headers").
find_program(REELMEND_CCACHE ccache)
mark_as_advanced(REELMEND_CCACHE)
cmake_path(GET PROJECT_SOURCE_DIR PARENT_PATH reelmend_checkout)
if(REELMEND_CCACHE)
  set(REELMEND_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${reelmend_checkout}" CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${REELMEND_CCACHE}")
endif()

set(reelmend_sanitize_flags "")
if(REELMEND_SANITIZE)
  if(NOT REELMEND_SANITIZE MATCHES "^(address|thread|undefined|address,undefined)$")
    message(FATAL_ERROR "REELMEND_SANITIZE must be address, thread, undefined or address,undefined, not '${REELMEND_SANITIZE}'.")
  endif()
  set(reelmend_sanitize_flags -fsanitize=${REELMEND_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g
      -Wno-error)  # sanitizers' instrumentation causes false warnings in GCC
endif()

set(reelmend_warnings -Wall -Wextra -Werror)

function(reelmend_settings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_include_directories(${target} PRIVATE
    "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../src")
  target_compile_options(${target} PRIVATE
    ${reelmend_warnings} $<$<CONFIG:Release>:-O3> ${reelmend_sanitize_flags})
  target_compile_definitions(${target} PRIVATE __STDC_CONSTANT_MACROS)  # libav requires it in C++
  target_link_options(${target} PRIVATE ${reelmend_sanitize_flags})
  target_link_libraries(${target} PRIVATE reelmend_dependencies)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(REELMEND_CCACHE)
    set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${REELMEND_COMPILER_LAUNCHER}")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
