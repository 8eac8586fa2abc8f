// For functions that nvcc compiles for the GPU and every C++ compiler for the CPU.
#pragma once

#if defined(__CUDACC__)
#define REELMEND_HD __host__ __device__
#else
#define REELMEND_HD
#endif
