# What the engine links: libav, Google Highway (SIMD with run-time dispatch), threads.
# GLOBAL, because a project that adds this folder links them through the static library.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBAV REQUIRED IMPORTED_TARGET GLOBAL
  libavformat>=59 libavcodec>=59 libavutil>=57 libswscale>=6 libswresample>=4)
# Headers only: the engine opens the library when it needs it (src/media/avfilter.h).
pkg_check_modules(LIBAVFILTER REQUIRED libavfilter>=8)
# A libav newer than that of Debian 13, with which npm test compiles, may deprecate functions that the engine calls. That must
# not break a user's build.
if(LIBAV_libavcodec_VERSION VERSION_GREATER_EQUAL 62)
  list(APPEND reelmend_warnings -Wno-error=deprecated-declarations)
endif()
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET GLOBAL libhwy>=1.0)

add_library(reelmend_dependencies INTERFACE)
target_link_libraries(reelmend_dependencies INTERFACE PkgConfig::LIBAV PkgConfig::HWY Threads::Threads
  ${CMAKE_DL_LIBS})
target_include_directories(reelmend_dependencies SYSTEM INTERFACE ${LIBAVFILTER_INCLUDE_DIRS})
if(REELMEND_SANITIZE)
  target_link_options(reelmend_dependencies INTERFACE -fsanitize=${REELMEND_SANITIZE})
endif()
