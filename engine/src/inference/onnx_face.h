// Networks for faces as people share them: what their ONNX files leave open.
#pragma once

#include <string>

namespace reelmend::inference {

/// Side of the crop for networks that leave it open.
inline constexpr int kUsualFaceSide = 512;
/// The input of this name that some networks have, and what it gets: midway between fidelity and invention.
inline constexpr const char* kFaceWeight = "weight";
inline constexpr float kUsualFaceWeight = 0.5F;

/// The network with its input kFaceWeight as a constant, if it has one that the file gives no value: backends for GPUs take
/// networks with one input. Throws Error{kInvalidArgument} if the bytes are no ONNX network.
std::string WithConstantWeight(const std::string& onnx);

/// Side of the square pictures that the network takes: kUsualFaceSide if it leaves it open. Throws the same.
int FaceSide(const std::string& onnx);

}  // namespace reelmend::inference
