#include "cuda/network_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "inference/model_loader.h"
#include "pixel/color_matrix.h"

namespace reelmend::cuda {
namespace {

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();
/// Parts smaller than this are not worth cutting further: what does not fit then is not this picture's size.
constexpr std::int64_t kSmallestTile = 96 * 96;

RgbMatrix ToRgbMatrix(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const auto f = [](double v) { return static_cast<float>(v); };
  return {f(c.luma_offset), f(c.luma_scale), f(c.red_cr), f(c.green_cb), f(c.green_cr), f(c.blue_cb)};
}

/// The inverse, as pipeline/network_tensors.cc solves it.
YcbcrMatrix ToYcbcrMatrix(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const double denominator = c.red_cr * c.blue_cb - c.green_cr * c.blue_cb - c.green_cb * c.red_cr;
  const double red = -c.green_cr * c.blue_cb / denominator;
  const double blue = -c.green_cb * c.red_cr / denominator;
  const auto f = [](double v) { return static_cast<float>(v); };
  return {{f(red), f(1 - red - blue), f(blue)}, f(1 / c.luma_scale), f(c.luma_offset), f(1 / c.blue_cb), f(1 / c.red_cr)};
}

Units LumaUnits(pixel::ColorSpec color) {
  const pixel::SampleLevels levels = pixel::SampleLevelsOf(color.range);
  return {static_cast<float>(levels.luma_black), static_cast<float>(1 / levels.luma_span)};
}

Units ChromaUnits(pixel::ColorSpec color) {
  return {32768.0F, static_cast<float>(1 / pixel::SampleLevelsOf(color.range).chroma_span)};
}

/// The next smaller one; false: there is none.
bool TakeLess(inference::Occupancy& occupancy, int contexts) {
  if (occupancy.contexts > 1) {
    --occupancy.contexts;
    return true;
  }
  if (occupancy.batch == 1) return false;
  occupancy = {contexts, 1};
  return true;
}

/// A picture's part of a tensor that holds several.
Tensor OfBatch(Tensor tensor, int place) {
  tensor.data += static_cast<std::ptrdiff_t>(place) * tensor.channels * tensor.height * tensor.width;
  return tensor;
}

}  // namespace

int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most) {
  const std::size_t fitting = context_bytes == 0 ? static_cast<std::size_t>(most) : free_bytes / 2 / context_bytes;
  return std::clamp(static_cast<int>(std::min<std::size_t>(fitting, 1'000)), 1, std::max(1, most));
}

NetworkRunner::NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in)
    : device_(device), options_(options), in_(in), store_(std::move(device)) {
  device_->MakeCurrent();
  std::int64_t pixels = kWhole;
  inference::Occupancy occupancy{std::max(1, options.occupancy.contexts), std::max(1, options.occupancy.batch)};
  for (;;) {
    try {
      Make(occupancy, pixels);
      break;
    } catch (const Error& error) {
      const bool is_memory = dynamic_cast<const OutOfDeviceMemory*>(&error) != nullptr || error.code() == ErrorCode::kLimitExceeded;
      if (!is_memory) throw;
      Release();
      if (TakeLess(occupancy, options.occupancy.contexts)) continue;
      if (!options.may_cut) throw;
      pixels = std::min(pixels, std::int64_t{in.width()} * in.height()) / 2;
      if (pixels < kSmallestTile) throw OutOfDeviceMemory("The GPU has too little free memory for the network.");
    }
  }
  if (options_.made) options_.made();
}

NetworkRunner::~NetworkRunner() { Release(); }

/// Nothing of the device's may read or write memory that goes away now.
void NetworkRunner::Release() {
  try {
    for (const Lane& lane : lanes_) {
      if (lane.stream) device_->WaitForStream(lane.stream.get());
    }
  } catch (const Error&) {
    // A lost device does neither.
  }
  lanes_.clear();
  passes_.clear();
  store_.Clear();
}

void NetworkRunner::Make(const inference::Occupancy& occupancy, std::int64_t most_pixels) {
  batch_ = occupancy.batch;
  MakePasses(most_pixels);
  const int fitting = ContextsWithin(device_->FreeBytes(), LaneBytes(), occupancy.contexts);
  for (int i = 0; i < (is_cut() ? 1 : fitting); ++i) MakeLane();
}

/// Device memory that a lane takes.
std::size_t NetworkRunner::LaneBytes() const {
  std::size_t bytes = 0;
  for (const Pass& pass : passes_) {
    std::size_t picture = static_cast<std::size_t>(pass.network->input_shape().count() + pass.network->output_shape().count()) * sizeof(Half);
    for (const Plane& plane : pass.out.planes) picture += static_cast<std::size_t>(plane.stride) * plane.height * sizeof(std::uint16_t);
    bytes += picture * static_cast<std::size_t>(batch_) + static_cast<std::size_t>(pass.network->workspace_bytes());
  }
  return bytes;
}

void NetworkRunner::MakePasses(std::int64_t most_pixels) {
  Picture shape = in_;
  for (int i = 0; i < options_.passes; ++i) {
    Pass pass;
    pass.plan = inference::PlanTiles(shape.width(), shape.height(), options_.file.multiple, options_.file.halo,
                                     [&](int width, int height) { return most_pixels == kWhole || std::int64_t{width} * height <= most_pixels; });
    pass.network = options_.load(pass.plan.tile_width, pass.plan.tile_height, batch_);
    const bool makes_chroma = inference::MakesChroma(options_.file.layout);
    pass.out = ShapeOf(shape.width() * options_.file.scale, shape.height() * options_.file.scale,
                       makes_chroma ? pixel::Subsampling{0, 0} : shape.subsampling(), in_.color);
    if (!makes_chroma) pass.out.planes[1] = pass.out.planes[2] = {};
    shape = pass.out;
    passes_.push_back(std::move(pass));
  }
}

Picture NetworkRunner::MakePicture(Picture shape) {
  std::size_t samples = 0;
  for (const Plane& plane : shape.planes) samples += static_cast<std::size_t>(plane.stride) * plane.height;
  auto* data = static_cast<std::uint16_t*>(store_.Make(samples * sizeof(std::uint16_t)));
  for (Plane& plane : shape.planes) {
    if (plane.height == 0) continue;
    plane.data = data;
    data += plane.stride * plane.height;
  }
  return shape;
}

void NetworkRunner::MakeLane() {
  lanes_.emplace_back();
  Lane& lane = lanes_.back();
  const auto make_tensor = [&](const inference::Shape& shape) {
    const std::size_t samples = static_cast<std::size_t>(shape.count()) * static_cast<std::size_t>(batch_);
    // Cleared, since a batch may run before all its places were filled.
    return Tensor{static_cast<Half*>(store_.MakeCleared(samples * sizeof(Half))), shape.channels, shape.width, shape.height};
  };
  for (const Pass& pass : passes_) {
    lane.inputs.push_back(make_tensor(pass.network->input_shape()));
    lane.outputs.push_back(make_tensor(pass.network->output_shape()));
    const auto bytes = static_cast<std::size_t>(pass.network->workspace_bytes());
    void* workspace = bytes > 0 ? store_.Make(bytes) : nullptr;
    lane.contexts.push_back(pass.network->MakeContext({lane.inputs.back().data, lane.outputs.back().data, workspace}));
    lane.pictures.emplace_back();
    for (int place = 0; place < batch_; ++place) lane.pictures.back().push_back(MakePicture(pass.out));
  }
  lane.is_filled.assign(static_cast<std::size_t>(batch_), false);
  lane.stream = MakeStream(device_);
  lane.filled = MakeEvent(device_);
  lane.done = MakeEvent(device_);
}

void NetworkRunner::Fill(const Lane& lane, std::size_t pass, int place, const Picture& in, const inference::Tile& tile, StreamHandle stream) {
  const Tensor out = OfBatch(lane.inputs[pass], place);
  const Extent extent{out.width, out.height, 1};
  const auto launch = [&](const auto& kernel) { device_->Launch(MakeCall(kernel, extent), stream); };
  if (options_.file.layout == ModelFile::Layout::kRgb) {
    return launch(RgbToTensorKernel{in, tile.x, tile.y, ToRgbMatrix(in_.color), out});
  }
  const Units luma = LumaUnits(in_.color);
  const float strength = pass == 0 ? options_.strength : 0;
  if (options_.file.layout == ModelFile::Layout::kYcbcrStrength) {
    return launch(YcbcrToTensorKernel{in, tile.x, tile.y, luma, ChromaUnits(in_.color), strength, out});
  }
  launch(LumaToTensorKernel{in.planes[0], tile.x, tile.y, luma.offset, luma.scale, strength, out});
}

void NetworkRunner::Empty(const Lane& lane, std::size_t pass, int place, const inference::Tile& tile, StreamHandle stream) {
  const int scale = options_.file.scale;
  const KeptPart part{(tile.keep_x - tile.x) * scale, (tile.keep_y - tile.y) * scale, tile.keep_x * scale,
                      tile.keep_y * scale,           tile.keep_width * scale,         tile.keep_height * scale};
  const Extent extent{part.width, part.height, 1};
  const auto launch = [&](const auto& kernel) { device_->Launch(MakeCall(kernel, extent), stream); };
  const Picture& out = lane.pictures[pass][place];
  const Tensor made = OfBatch(lane.outputs[pass], place);
  if (options_.file.layout == ModelFile::Layout::kRgb) {
    return launch(TensorToRgbPictureKernel{made, part, ToYcbcrMatrix(in_.color), out});
  }
  const Units luma = LumaUnits(in_.color);
  if (options_.file.layout == ModelFile::Layout::kYcbcrStrength) {
    const float chroma_span = 1 / ChromaUnits(in_.color).scale;
    return launch(TensorToYcbcrPictureKernel{made, part, luma.offset, 1 / luma.scale, chroma_span, out});
  }
  launch(TensorToLumaKernel{made, part, luma.offset, 1 / luma.scale, out.planes[0]});
}

/// All that follows the filling of the first tensor, on the lane's stream.
void NetworkRunner::PutWhole(Lane& lane) {
  const StreamHandle stream = lane.stream.get();
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const inference::Tile& whole = passes_[i].plan.tiles[0];
    for (int place = 0; i > 0 && place < batch_; ++place) Fill(lane, i, place, lane.pictures[i - 1][place], whole, stream);
    lane.contexts[i]->Enqueue(stream.value);
    for (int place = 0; place < batch_; ++place) Empty(lane, i, place, whole, stream);
  }
}

/// A network that cannot be captured goes on piece by piece. What else fails here fails there again, and is told then.
void NetworkRunner::Capture(Lane& lane) {
  const StreamHandle stream = lane.stream.get();
  device_->BeginCapture(stream);
  bool is_whole = true;
  try {
    PutWhole(lane);
  } catch (const Error&) {
    is_whole = false;
  }
  try {
    Graph graph(device_, device_->EndCapture(stream));  // in any case: an open capture would poison the stream
    if (is_whole) lane.graph = std::move(graph);
  } catch (const Error&) {
    // The library ended the capture.
  }
}

void NetworkRunner::PutTiles(Lane& lane, const Picture& in, StreamHandle stream) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    for (const inference::Tile& tile : passes_[i].plan.tiles) {
      if (options_.is_stopped && options_.is_stopped()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
      Fill(lane, i, 0, i == 0 ? in : lane.pictures[i - 1][0], tile, stream);
      lane.contexts[i]->Enqueue(stream.value);
      Empty(lane, i, 0, tile, stream);
    }
  }
}

/// The network on what the lane's tensor holds, once `stage` has filled it.
void NetworkRunner::Run(Lane& lane, StreamHandle stage) {
  device_->MakeCurrent();
  const StreamHandle stream = lane.stream.get();
  device_->Record(lane.filled.get(), stage);
  device_->WaitOn(stream, lane.filled.get());
  if (lane.runs == 1) Capture(lane);
  lane.graph ? device_->LaunchGraph(lane.graph.get(), stream) : PutWhole(lane);
  lane.runs = std::min(lane.runs + 1, 2);
  device_->Record(lane.done.get(), stream);
  lane.is_filled.assign(lane.is_filled.size(), false);
}

void NetworkRunner::Begin(int slot, const Picture& in, StreamHandle stage) {
  device_->MakeCurrent();
  Lane& lane = lanes_[slot / batch_];
  const int place = slot % batch_;
  if (is_cut()) {
    PutTiles(lane, in, stage);
    device_->Record(lane.done.get(), stage);
    return;
  }
  // The slot's last picture was waited for by `stage`, so nothing reads its part of the tensors any more.
  Fill(lane, 0, place, in, passes_[0].plan.tiles[0], stage);
  lane.is_filled[place] = true;
  if (place + 1 == batch_) Run(lane, stage);
}

void NetworkRunner::Wait(int slot, StreamHandle stage) {
  Lane& lane = lanes_[slot / batch_];
  if (lane.is_filled[slot % batch_]) Run(lane, stage);
  device_->WaitOn(stage, lane.done.get());
}

}  // namespace reelmend::cuda
