// Machine code of the kernels that compute pixel by pixel.
#include "cuda/kernel_launch.cuh"

namespace reelmend::cuda {

cudaError_t CheckMachineCode() {
  cudaFuncAttributes attributes = {};
  return cudaFuncGetAttributes(&attributes, PixelGrid<ImportKernel>);
}

template cudaError_t LaunchOnGpu<ImportKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<LumaToTensorKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<RgbToTensorKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<YcbcrToTensorKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<TensorToLumaKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<TensorToRgbPictureKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<TensorToYcbcrPictureKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ToneKernelCall>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ShrinkKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<MeanKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<CellKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<PoolKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<DebandKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<HorizontalFirstPass>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<VerticalSecondPass>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<VerticalFirstPass>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<HorizontalSecondPass>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ContourCellKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ContourBlurKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ContourKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<ContourSharpenKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GuidedCellKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GuidedBlurKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GuidedProductKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GuidedFitKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<GuidedChromaKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FaceReduceKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FaceSquareKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FaceToTensorKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FaceChangeKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FaceBlendKernel>(const void*, Extent, cudaStream_t);
template cudaError_t LaunchOnGpu<FinishChromaKernel>(const void*, Extent, cudaStream_t);

}  // namespace reelmend::cuda
