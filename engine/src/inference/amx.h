// AMX, the tile registers of newer x86-64 processors: whether this process may use them.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace reelmend::inference {

/// Requests the tile registers from the kernel, which grants them only on request (Linux 5.16 and later). False if the
/// processor has none, the kernel is older, or a system call filter denies the request.
inline bool RequestTiles() noexcept {
#if defined(__x86_64__)
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of asm/prctl.h
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA of the kernel
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

constexpr unsigned kAmxBf16 = 1U << 22;  ///< a bit of ExtendedFeatures

/// Feature bits of the processor: EDX of CPUID leaf 7; 0 if it has no such leaf.
inline unsigned ExtendedFeatures() noexcept {
#if defined(__x86_64__)
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 ? d : 0;
#else
  return 0;
#endif
}

/// Whether a processor with these features multiplies bfloat16 tiles and the kernel allows this process to use them.
inline bool HasBf16Tiles(unsigned features) noexcept { return (features & kAmxBf16) != 0 && RequestTiles(); }

/// Whether bfloat16 is much faster than float32 here: tiles, or AVX512_BF16 of AMD's processors. Intel's without tiles are slower
/// in it (Note [bfloat16] in openvino/picture_model.cc).
inline bool HasFastBf16Instructions() noexcept {
#if defined(__x86_64__)
  return HasBf16Tiles(ExtendedFeatures()) || (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512bf16"));
#else
  return false;
#endif
}

}  // namespace reelmend::inference
