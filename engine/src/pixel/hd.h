// Marks functions that nvcc also compiles for the GPU.
#pragma once

#if defined(__CUDACC__)
#define REELMEND_HD __host__ __device__
#else
#define REELMEND_HD
#endif
