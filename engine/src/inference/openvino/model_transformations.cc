#include "inference/openvino/model_transformations.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "inference/openvino/openvino_core.h"
#include "openvino/op/constant.hpp"
#include "openvino/op/depth_to_space.hpp"
#include "openvino/op/prelu.hpp"
#include "openvino/op/result.hpp"
#include "openvino/op/slice.hpp"

namespace reelmend::inference {
namespace {

/// Most planes of which lines share one set of a cache with 64 sets of 64 bytes.
int PlanesInOneSet(int planes, std::size_t plane_bytes) {
  constexpr std::size_t kLine = 64;
  std::array<int, 64> in_set = {};
  for (int i = 0; i < planes; ++i) ++in_set[static_cast<std::size_t>(i) * plane_bytes / kLine % in_set.size()];
  return *std::ranges::max_element(in_set);
}

}  // namespace

int RemoveShuffle(ov::Model& model, int multiple) {
  const auto result = model.get_results()[0];
  const auto last = ov::as_type_ptr<ov::op::v0::DepthToSpace>(result->get_input_node_shared_ptr(0));
  if (!last) return 1;
  const bool is_by_plane = last->get_mode() == ov::op::v0::DepthToSpace::DepthToSpaceMode::DEPTH_FIRST;
  if (!is_by_plane && model.output(0).get_shape()[1] != 1) return 1;
  const auto factor = static_cast<int>(last->get_block_size());
  if (factor < 2 || factor > kMaxShuffle || multiple % factor != 0) return 1;
  result->input(0).replace_source_output(last->input_value(0));
  model.validate_nodes_and_infer_types();
  return factor;
}

void CutOutput(ov::Model& model) {
  constexpr int kSliceChannels = 12;
  constexpr int kMostInOneSet = 8;
  const auto result = model.get_results()[0];
  const ov::Output<ov::Node> whole = result->input_value(0);
  const Shape shape = ToShape(whole.get_shape());
  const std::size_t plane_bytes = sizeof(float) * static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  if (shape.channels < 16 || shape.channels > 64 || PlanesInOneSet(shape.channels, plane_bytes) <= kMostInOneSet) return;
  const auto constant = [](std::int64_t value) { return ov::op::v0::Constant::create(ov::element::i64, {1}, {value}); };
  ov::ResultVector slices;
  for (int first = 0; first < shape.channels; first += kSliceChannels) {
    const auto slice = std::make_shared<ov::op::v8::Slice>(whole, constant(first), constant(std::min(first + kSliceChannels, shape.channels)),
                                                           constant(1), constant(1));
    slices.push_back(std::make_shared<ov::op::v0::Result>(slice));
  }
  model.add_results(slices);
  model.remove_result(result);
}

void MatchSlopesToRank(ov::Model& model) {
  for (const auto& op : model.get_ops()) {
    const auto prelu = ov::as_type_ptr<ov::op::v0::PRelu>(op);
    if (!prelu || prelu->get_input_partial_shape(0).rank() != 4) continue;
    const auto slopes = ov::as_type_ptr<ov::op::v0::Constant>(prelu->get_input_node_shared_ptr(1));
    if (!slopes || slopes->get_shape().size() != 3) continue;
    ov::Shape shape = slopes->get_shape();
    shape.insert(shape.begin(), 1);
    prelu->input(1).replace_source_output(std::make_shared<ov::op::v0::Constant>(*slopes, shape));
  }
}

}  // namespace reelmend::inference
