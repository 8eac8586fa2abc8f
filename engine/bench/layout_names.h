// Layouts of networks by the names that manifests give them.
#pragma once

#include <string>
#include <utility>

#include "reelmend/error.h"
#include "reelmend/model.h"

namespace reelmend::bench {

/// Of a network for whole pictures. Throws Error{kInvalidArgument} for any other name.
inline ModelFile::Layout LayoutOf(const std::string& name) {
  using Layout = ModelFile::Layout;
  for (const auto& [known, layout] : {std::pair{"luma+strength", Layout::kLumaStrength},
                                      {"ycbcr+strength", Layout::kYcbcrStrength}, {"rgb", Layout::kRgb}}) {
    if (name == known) return layout;
  }
  throw Error(ErrorCode::kInvalidArgument, "There is no layout " + name + " of networks for whole pictures.");
}

}  // namespace reelmend::bench
