// Detection of fast bfloat16 (AMX). The CPU's flag is not enough: the kernel must permit the tile registers.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "inference/amx.h"

#if defined(__x86_64__)
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cerrno>
#include <cstddef>
#endif

namespace reelmend::inference {
namespace {

#if defined(__x86_64__)

/// Denies this process the permission for tile registers, like containers and old kernels.
bool DenyArchPrctl() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {static_cast<unsigned short>(std::size(program)), program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

bool ProcessorHasAmx() {
  std::ifstream file("/proc/cpuinfo");
  return std::string(std::istreambuf_iterator<char>(file), {}).find("amx_bf16") != std::string::npos;
}

TEST(Amx, TilesAreUsedWhereTheKernelGrantsThem) {
  // /proc/cpuinfo lists the CPU's features even if this process may not use them (containers, old kernels).
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  const bool is_granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  EXPECT_EQ(HasBf16Tiles(ExtendedFeatures()), is_granted && ProcessorHasAmx());
}

TEST(Amx, TilesThatTheKernelDeniesAreNotUsed) {
  const auto denied = [] {
    if (!DenyArchPrctl()) std::_Exit(2);
    std::_Exit(HasBf16Tiles(kAmxBf16) ? 1 : 0);
  };
  EXPECT_EXIT(denied(), ::testing::ExitedWithCode(0), "");
}

#endif

}  // namespace
}  // namespace reelmend::inference
