// Helpers of the network tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "inference/backend.h"
#include "reelmend/enhance.h"

namespace reelmend::testing {

inline bool HasOpenVino() {
  const auto names = inference::AvailableBackends();
  return std::find(names.begin(), names.end(), "openvino") != names.end();
}

#define NEEDS_OPENVINO()                        \
  if (!::reelmend::testing::HasOpenVino()) \
  GTEST_SKIP() << "This build has no OpenVINO: networks are NOT tested (scripts/setup-openvino)."

/// The description of an installed network; its file does not exist.
inline ModelFile Described(const std::string& name, int scale, ModelFile::Precision precision = ModelFile::Precision::kFp32) {
  ModelFile file;
  file.name = name;
  file.scale = scale;
  file.precision = precision;
  file.path = name + std::to_string(scale) + (precision == ModelFile::Precision::kInt8 ? "-int8" : "");
  return file;
}

}  // namespace reelmend::testing
