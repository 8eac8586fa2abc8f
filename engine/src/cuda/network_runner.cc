#include "cuda/network_runner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pixel/color_matrix.h"

namespace framelift::cuda {
namespace {

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();
/// Parts smaller than this are not worth cutting further: what does not fit then is not this picture's size.
constexpr std::int64_t kSmallestTile = 96 * 96;

bool IsRgb(const ModelFile& file) { return file.layout == ModelFile::Layout::kRgb; }

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

}  // namespace

int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most) {
  const std::size_t fitting = context_bytes == 0 ? static_cast<std::size_t>(most) : free_bytes / 2 / context_bytes;
  return std::clamp(static_cast<int>(std::min<std::size_t>(fitting, 1'000)), 1, std::max(1, most));
}

NetworkRunner::NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in)
    : device_(device), options_(options), in_(in), store_(std::move(device)) {
  device_->MakeCurrent();
  std::int64_t pixels = kWhole;
  int contexts = std::max(1, options.contexts);
  for (;;) {
    try {
      Make(contexts, pixels);
      break;
    } catch (const Error& error) {
      const bool is_memory = dynamic_cast<const OutOfDeviceMemory*>(&error) != nullptr || error.code() == ErrorCode::kLimitExceeded;
      if (!is_memory) throw;
      Release();
      if (contexts > 1) {
        --contexts;
        continue;
      }
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
    for (const Slot& slot : slots_) {
      if (slot.stream) device_->WaitForStream(slot.stream.get());
    }
  } catch (const Error&) {
    // A lost device does neither.
  }
  slots_.clear();
  passes_.clear();
  store_.Clear();
}

void NetworkRunner::Make(int contexts, std::int64_t most_pixels) {
  MakePasses(most_pixels);
  const int fitting = ContextsWithin(device_->FreeBytes(), SlotBytes(), contexts);
  for (int i = 0; i < (is_cut() ? 1 : fitting); ++i) MakeSlot();
}

/// Device memory that a slot takes.
std::size_t NetworkRunner::SlotBytes() const {
  std::size_t bytes = 0;
  for (const Pass& pass : passes_) {
    const auto samples = static_cast<std::size_t>(pass.network->input_shape().count() + pass.network->output_shape().count());
    bytes += samples * sizeof(Half) + static_cast<std::size_t>(pass.network->workspace_bytes());
    for (const Plane& plane : pass.out.planes) bytes += static_cast<std::size_t>(plane.stride) * plane.height * sizeof(std::uint16_t);
  }
  return bytes;
}

void NetworkRunner::MakePasses(std::int64_t most_pixels) {
  Picture shape = in_;
  for (int i = 0; i < options_.passes; ++i) {
    Pass pass;
    pass.plan = inference::PlanTiles(shape.width(), shape.height(), options_.file.multiple, options_.file.halo,
                                     [&](int width, int height) { return most_pixels == kWhole || std::int64_t{width} * height <= most_pixels; });
    pass.network = options_.load(pass.plan.tile_width, pass.plan.tile_height);
    const bool is_rgb = IsRgb(options_.file);
    pass.out = ShapeOf(shape.width() * options_.file.scale, shape.height() * options_.file.scale,
                       is_rgb ? pixel::Subsampling{0, 0} : shape.subsampling(), in_.color);
    if (!is_rgb) pass.out.planes[1] = pass.out.planes[2] = {};
    shape = pass.out;
    passes_.push_back(std::move(pass));
  }
}

void NetworkRunner::MakeSlot() {
  slots_.emplace_back();
  Slot& slot = slots_.back();
  const auto make_tensor = [&](const inference::Shape& shape) {
    return Tensor{static_cast<Half*>(store_.Make(static_cast<std::size_t>(shape.count()) * sizeof(Half))), shape.channels, shape.width, shape.height};
  };
  for (const Pass& pass : passes_) {
    slot.inputs.push_back(make_tensor(pass.network->input_shape()));
    slot.outputs.push_back(make_tensor(pass.network->output_shape()));
    const auto bytes = static_cast<std::size_t>(pass.network->workspace_bytes());
    void* workspace = bytes > 0 ? store_.Make(bytes) : nullptr;
    slot.contexts.push_back(pass.network->MakeContext({slot.inputs.back().data, slot.outputs.back().data, workspace}));
    Picture picture = pass.out;
    std::size_t samples = 0;
    for (const Plane& plane : picture.planes) samples += static_cast<std::size_t>(plane.stride) * plane.height;
    auto* data = static_cast<std::uint16_t*>(store_.Make(samples * sizeof(std::uint16_t)));
    for (Plane& plane : picture.planes) {
      if (plane.height == 0) continue;
      plane.data = data;
      data += plane.stride * plane.height;
    }
    slot.pictures.push_back(picture);
  }
  slot.stream = MakeStream(device_);
  slot.filled = MakeEvent(device_);
  slot.done = MakeEvent(device_);
}

void NetworkRunner::Fill(const Slot& slot, std::size_t pass, const Picture& in, const inference::Tile& tile, StreamHandle stream) {
  const Tensor& out = slot.inputs[pass];
  const Extent extent{out.width, out.height, 1};
  if (IsRgb(options_.file)) {
    device_->Launch(MakeCall(RgbToTensorKernel{in, tile.x, tile.y, ToRgbMatrix(in_.color), out}, extent), stream);
    return;
  }
  const RgbMatrix matrix = ToRgbMatrix(in_.color);
  const float strength = pass == 0 ? options_.strength : 0;
  device_->Launch(MakeCall(LumaToTensorKernel{in.planes[0], tile.x, tile.y, matrix.luma_offset, matrix.luma_scale, strength, out}, extent), stream);
}

void NetworkRunner::Empty(const Slot& slot, std::size_t pass, const inference::Tile& tile, StreamHandle stream) {
  const int scale = options_.file.scale;
  const KeptPart part{(tile.keep_x - tile.x) * scale, (tile.keep_y - tile.y) * scale, tile.keep_x * scale,
                      tile.keep_y * scale,           tile.keep_width * scale,         tile.keep_height * scale};
  const Extent extent{part.width, part.height, 1};
  const YcbcrMatrix matrix = ToYcbcrMatrix(in_.color);
  const Picture& out = slot.pictures[pass];
  if (IsRgb(options_.file)) {
    device_->Launch(MakeCall(TensorToRgbPictureKernel{slot.outputs[pass], part, matrix, out}, extent), stream);
  } else {
    device_->Launch(MakeCall(TensorToLumaKernel{slot.outputs[pass], part, matrix.luma_offset, matrix.luma_span, out.planes[0]}, extent), stream);
  }
}

/// All that follows the filling of the first tensor, on the slot's stream.
void NetworkRunner::PutWhole(Slot& slot) {
  const StreamHandle stream = slot.stream.get();
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    if (i > 0) Fill(slot, i, slot.pictures[i - 1], passes_[i].plan.tiles[0], stream);
    slot.contexts[i]->Enqueue(stream.value);
    Empty(slot, i, passes_[i].plan.tiles[0], stream);
  }
}

/// A network that cannot be captured goes on piece by piece. What else fails here fails there again, and is told then.
void NetworkRunner::Capture(Slot& slot) {
  const StreamHandle stream = slot.stream.get();
  device_->BeginCapture(stream);
  bool is_whole = true;
  try {
    PutWhole(slot);
  } catch (const Error&) {
    is_whole = false;
  }
  try {
    Graph graph(device_, device_->EndCapture(stream));  // in any case: an open capture would poison the stream
    if (is_whole) slot.graph = std::move(graph);
  } catch (const Error&) {
    // The library ended the capture.
  }
}

void NetworkRunner::PutTiles(Slot& slot, const Picture& in, StreamHandle stream) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    for (const inference::Tile& tile : passes_[i].plan.tiles) {
      if (options_.is_stopped && options_.is_stopped()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
      Fill(slot, i, i == 0 ? in : slot.pictures[i - 1], tile, stream);
      slot.contexts[i]->Enqueue(stream.value);
      Empty(slot, i, tile, stream);
    }
  }
}

void NetworkRunner::Begin(int index, const Picture& in, StreamHandle stage) {
  device_->MakeCurrent();
  Slot& slot = slots_[index];
  if (is_cut()) {
    PutTiles(slot, in, stage);
    device_->Record(slot.done.get(), stage);
    return;
  }
  const StreamHandle stream = slot.stream.get();
  // The slot's last picture was waited for by `stage`, so nothing reads these tensors any more.
  Fill(slot, 0, in, passes_[0].plan.tiles[0], stage);
  device_->Record(slot.filled.get(), stage);
  device_->WaitOn(stream, slot.filled.get());
  if (slot.runs == 1) Capture(slot);
  slot.graph ? device_->LaunchGraph(slot.graph.get(), stream) : PutWhole(slot);
  slot.runs = std::min(slot.runs + 1, 2);
  device_->Record(slot.done.get(), stream);
}

void NetworkRunner::Wait(int index, StreamHandle stage) { device_->WaitOn(stage, slots_[index].done.get()); }

}  // namespace framelift::cuda
