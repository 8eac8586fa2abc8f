// Machine code of the kernels that compute tile by tile.
#include "cuda/kernel_launch.cuh"

namespace reelmend::cuda {

template cudaError_t LaunchOnGpu<SceneKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<MotionKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GlobalMotionKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GlobalErrorKernel<MotionKernel>>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FollowGlobalKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<TemporalKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<RefineKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GlobalErrorKernel<RefineKernel>>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<AccumulateKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<DenoiseKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<CurveKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<LevelKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FinishLumaKernel>(const void*, Extent, cudaStream_t);

}  // namespace reelmend::cuda
