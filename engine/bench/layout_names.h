// Layouts of networks by their names in manifests.
#pragma once

#include <string>
#include <utility>

#include "reelmend/error.h"
#include "reelmend/model.h"

namespace reelmend::bench {

/// The layout of a network for whole pictures. Throws Error{kInvalidArgument} for an unknown name.
inline ModelFile::Layout LayoutOf(const std::string& name) {
  using Layout = ModelFile::Layout;
  for (const auto& [known, layout] : {std::pair{"luma+strength", Layout::kLumaStrength},
                                      {"ycbcr+strength", Layout::kYcbcrStrength}, {"rgb", Layout::kRgb}}) {
    if (name == known) return layout;
  }
  throw Error(ErrorCode::kInvalidArgument, "Unknown layout " + name + "; expected luma+strength, ycbcr+strength or rgb.");
}

}  // namespace reelmend::bench
