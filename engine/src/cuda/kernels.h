// All kernels of the engine in one list: the interface between the stages and the devices that run them.
#pragma once

#include <cstring>
#include <new>

#include "cuda/launch.h"
#include "cuda/accumulation_kernels.h"
#include "cuda/contours_kernels.h"
#include "cuda/deband_kernels.h"
#include "cuda/face_kernels.h"
#include "cuda/finish_kernels.h"
#include "cuda/global_motion_kernels.h"
#include "cuda/guided_chroma_kernels.h"
#include "cuda/import_kernels.h"
#include "cuda/motion_kernels.h"
#include "cuda/network_kernels.h"
#include "cuda/space_kernels.h"
#include "cuda/time_kernels.h"
#include "cuda/tone_kernels.h"

namespace reelmend::cuda {

template <typename... Kernels>
struct List {
  static constexpr int kCount = sizeof...(Kernels);
};

using KernelList = List<ImportKernel, LumaToTensorKernel, RgbToTensorKernel, YcbcrToTensorKernel, TensorToLumaKernel,
                        TensorToRgbPictureKernel, TensorToYcbcrPictureKernel, ToneKernelCall, ShrinkKernel, SceneKernel,
                        MeanKernel, MotionKernel, GlobalMotionKernel, GlobalErrorKernel<MotionKernel>, FollowGlobalKernel, TemporalKernel,
                        RefineKernel, GlobalErrorKernel<RefineKernel>, AccumulateKernel,
                        DenoiseKernel, CellKernel, PoolKernel, DebandKernel,
                        HorizontalFirstPass, VerticalSecondPass, VerticalFirstPass, HorizontalSecondPass, ContourCellKernel, ContourBlurKernel,
                        ContourKernel, ContourSharpenKernel, GuidedCellKernel, GuidedBlurKernel, GuidedProductKernel, GuidedFitKernel,
                        GuidedChromaKernel, FaceReduceKernel, FaceSquareKernel, FaceToTensorKernel, FaceChangeKernel, FaceBlendKernel,
                        CurveKernel, LevelKernel, FinishLumaKernel, FinishChromaKernel>;

/// Names in the order of KernelList, for messages and benchmarks.
inline constexpr const char* kKernelNames[] = {"import",
                                               "luma to tensor",
                                               "RGB to tensor",
                                               "YCbCr to tensor",
                                               "tensor to luma",
                                               "tensor to RGB picture",
                                               "tensor to YCbCr picture",
                                               "tone mapping",
                                               "shrink",
                                               "scene",
                                               "means for the motion search",
                                               "motion search",
                                               "global motion",
                                               "errors along the global motion",
                                               "vectors along the global motion",
                                               "temporal denoise",
                                               "refined motion",
                                               "errors along the refined global motion",
                                               "temporal accumulation",
                                               "denoise",
                                               "cells",
                                               "pool",
                                               "deband",
                                               "horizontal, first pass",
                                               "vertical, second pass",
                                               "vertical, first pass",
                                               "horizontal, second pass",
                                               "cells of contours",
                                               "blur of contours' cells",
                                               "along contours",
                                               "across contours",
                                               "cells of guided chroma",
                                               "blur of guided chroma",
                                               "products of guided chroma",
                                               "fit of guided chroma",
                                               "guided chroma",
                                               "reduction for the search of faces",
                                               "squares that may hold faces",
                                               "crop of a face",
                                               "change of a face",
                                               "blend of a face",
                                               "curves",
                                               "levels",
                                               "finish luma",
                                               "finish chroma"};
static_assert(sizeof kKernelNames / sizeof *kKernelNames == KernelList::kCount);

template <typename K, typename... Kernels>
constexpr int IndexIn(List<Kernels...>) {
  int index = 0;
  int found = -1;
  ((std::is_same_v<K, Kernels> ? found = index++ : index++), ...);
  return found;
}

template <typename K>
inline constexpr int kKernelId = IndexIn<K>(KernelList{});

template <typename K>
KernelCall MakeCall(const K& kernel, Extent extent) {
  static_assert(std::is_trivially_copyable_v<K> && sizeof(K) <= KernelCall::kMaxBytes && kKernelId<K> >= 0);
  KernelCall call;
  call.id = kKernelId<K>;
  call.extent = extent;
  std::memcpy(call.kernel, &kernel, sizeof kernel);
  call.run_on_host = [](const void* data, Extent size) { HostLaunch(*static_cast<const K*>(data), size); };
  return call;
}

}  // namespace reelmend::cuda
