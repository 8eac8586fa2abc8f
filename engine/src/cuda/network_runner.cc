#include "cuda/network_runner.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "inference/model_loader.h"
#include "pixel/color_matrix.h"

namespace reelmend::cuda {
namespace {

constexpr std::int64_t kWhole = std::numeric_limits<std::int64_t>::max();
/// Smallest tile: if it does not fit, the picture's size is not the problem.
constexpr std::int64_t kSmallestTile = 96 * 96;

RgbMatrix ToRgbMatrix(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const auto f = [](double v) { return static_cast<float>(v); };
  return {f(c.luma_offset), f(c.luma_scale), f(c.red_cr), f(c.green_cb), f(c.green_cr), f(c.blue_cb)};
}

/// The inverse; the same as in cpu/tensor_converter.cc.
YcbcrMatrix ToYcbcrMatrix(pixel::ColorSpec color) {
  const pixel::YcbcrToRgb c = pixel::MakeYcbcrToRgb(color.matrix, color.range);
  const double denominator = c.red_cr * c.blue_cb - c.green_cr * c.blue_cb - c.green_cb * c.red_cr;
  const double red = -c.green_cr * c.blue_cb / denominator;
  const double blue = -c.green_cb * c.red_cr / denominator;
  const auto f = [](double v) { return static_cast<float>(v); };
  return {{f(red), f(1 - red - blue), f(blue)}, f(1 / c.luma_scale), f(c.luma_offset), f(1 / c.blue_cb), f(1 / c.red_cr)};
}

LinearScale LumaUnits(pixel::ColorSpec color) {
  const pixel::SampleLevels levels = pixel::SampleLevelsOf(color.range);
  return {static_cast<float>(levels.luma_black), static_cast<float>(1 / levels.luma_span)};
}

LinearScale ChromaUnits(pixel::ColorSpec color) {
  return {32768.0F, static_cast<float>(1 / pixel::SampleLevelsOf(color.range).chroma_span)};
}

/// Takes one context less; if only one is left, a batch of one with all contexts. False if neither helps. Fewer contexts do not help a network
/// that could not be loaded or built: that happens before any is made, and takes minutes.
bool TakeLess(inference::Concurrency& concurrency, int contexts, bool is_loaded) {
  if (is_loaded && concurrency.contexts > 1) {
    --concurrency.contexts;
    return true;
  }
  if (concurrency.batch == 1) return false;
  concurrency = {contexts, 1};
  return true;
}

bool IsShortOfMemory(const Error& error) {
  return dynamic_cast<const OutOfDeviceMemory*>(&error) != nullptr || error.code() == ErrorCode::kLimitExceeded;
}

/// One picture of a batched tensor.
Tensor OfBatch(Tensor tensor, int batch_index) {
  tensor.data += static_cast<std::ptrdiff_t>(batch_index) * tensor.channels * tensor.height * tensor.width;
  return tensor;
}

}  // namespace

void EnqueueNetwork(inference::GpuContext& context, StreamHandle stream) {
  try {
    context.Enqueue(stream.value);
  } catch (const Error& error) {
    throw Error(ErrorCode::kUnavailable, error.what());
  }
}

int ContextsWithin(std::size_t free_bytes, std::size_t context_bytes, int most) {
  const std::size_t fitting = context_bytes == 0 ? static_cast<std::size_t>(most) : free_bytes / 2 / context_bytes;
  return std::clamp(static_cast<int>(std::min<std::size_t>(fitting, 1'000)), 1, std::max(1, most));
}

NetworkRunner::NetworkRunner(std::shared_ptr<Device> device, const NetworkOptions& options, const Picture& in)
    : device_(device), options_(options), in_(in), arena_(std::move(device)) {
  device_->MakeCurrent();
  MakeWhatFits();
  if (options_.made) options_.made();
}

/// First for the whole picture, with ever less in it at once; then for tiles, each time half as large: Note [Tiles on a device].
void NetworkRunner::MakeWhatFits() {
  inference::Concurrency concurrency{std::max(1, options_.concurrency.contexts), std::max(1, options_.concurrency.batch)};
  std::int64_t most_pixels = kWhole;
  std::exception_ptr no_engine;  // for the whole picture; that for a range of sizes may take its parts
  for (;;) {
    try {
      return Make(concurrency, most_pixels);
    } catch (const Error& error) {
      const bool is_memory = IsShortOfMemory(error);
      const bool is_missing = error.code() == ErrorCode::kNoEngine;
      if (!is_memory && !(is_missing && options_.may_cut)) throw;
      if (is_missing && !no_engine) no_engine = std::current_exception();
      const bool is_loaded = passes_.size() == static_cast<std::size_t>(options_.passes);
      Release();
      if (is_memory && TakeLess(concurrency, options_.concurrency.contexts, is_loaded)) continue;
      if (!options_.may_cut) throw;
    }
    most_pixels = std::min(most_pixels, std::int64_t{in_.width()} * in_.height()) / 2;
    if (most_pixels >= kSmallestTile) continue;
    if (no_engine) std::rethrow_exception(no_engine);
    throw OutOfDeviceMemory("The GPU has too little free memory for the network.");
  }
}

NetworkRunner::~NetworkRunner() { Release(); }

/// Waits until the device no longer uses memory that is about to be freed.
void NetworkRunner::Release() {
  try {
    for (const InferenceSlot& inference : inference_slots_) {
      if (inference.stream) device_->WaitForStream(inference.stream.get());
    }
  } catch (const Error&) {
    // A lost device no longer uses it.
  }
  inference_slots_.clear();
  passes_.clear();
  arena_.Clear();
}

void NetworkRunner::Make(const inference::Concurrency& concurrency, std::int64_t most_pixels) {
  batch_ = concurrency.batch;
  MakePasses(most_pixels);
  const int fitting = ContextsWithin(device_->FreeBytes(), InferenceSlotBytes(), concurrency.contexts);
  for (int i = 0; i < (is_cut() ? 1 : fitting); ++i) MakeInferenceSlot();
}

/// Device memory of an inference slot.
std::size_t NetworkRunner::InferenceSlotBytes() const {
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
  auto* data = static_cast<std::uint16_t*>(arena_.Make(samples * sizeof(std::uint16_t)));
  for (Plane& plane : shape.planes) {
    if (plane.height == 0) continue;
    plane.data = data;
    data += plane.stride * plane.height;
  }
  return shape;
}

void NetworkRunner::MakeInferenceSlot() {
  inference_slots_.emplace_back();
  InferenceSlot& inference = inference_slots_.back();
  const auto make_tensor = [&](const inference::Shape& shape) {
    const std::size_t samples = static_cast<std::size_t>(shape.count()) * static_cast<std::size_t>(batch_);
    // Cleared, because a batch may run before all its positions were filled.
    return Tensor{static_cast<Half*>(arena_.MakeCleared(samples * sizeof(Half))), shape.channels, shape.width, shape.height};
  };
  for (const Pass& pass : passes_) {
    inference.inputs.push_back(make_tensor(pass.network->input_shape()));
    inference.outputs.push_back(make_tensor(pass.network->output_shape()));
    const auto bytes = static_cast<std::size_t>(pass.network->workspace_bytes());
    void* workspace = bytes > 0 ? arena_.Make(bytes) : nullptr;
    inference.contexts.push_back(pass.network->MakeContext({inference.inputs.back().data, inference.outputs.back().data, workspace}));
    inference.pictures.emplace_back();
    for (int batch_index = 0; batch_index < batch_; ++batch_index) inference.pictures.back().push_back(MakePicture(pass.out));
  }
  inference.is_filled.assign(static_cast<std::size_t>(batch_), false);
  inference.stream = MakeStream(device_);
  inference.filled = MakeEvent(device_);
  inference.done = MakeEvent(device_);
}

void NetworkRunner::PackInput(const InferenceSlot& inference, std::size_t pass, int batch_index, const Picture& in, const inference::Tile& tile, StreamHandle stream) {
  const Tensor out = OfBatch(inference.inputs[pass], batch_index);
  const Extent extent{out.width, out.height, 1};
  const auto launch = [&](const auto& kernel) { device_->Launch(MakeCall(kernel, extent), stream); };
  if (options_.file.layout == ModelFile::Layout::kRgb) {
    return launch(RgbToTensorKernel{in, tile.x, tile.y, ToRgbMatrix(in_.color), out});
  }
  const LinearScale luma = LumaUnits(in_.color);
  const float strength = pass == 0 ? options_.strength : 0;
  if (options_.file.layout == ModelFile::Layout::kYcbcrStrength) {
    return launch(YcbcrToTensorKernel{in, tile.x, tile.y, luma, ChromaUnits(in_.color), strength, out});
  }
  launch(LumaToTensorKernel{in.planes[0], tile.x, tile.y, luma.offset, luma.scale, strength, out});
}

void NetworkRunner::UnpackOutput(const InferenceSlot& inference, std::size_t pass, int batch_index, const inference::Tile& tile, StreamHandle stream) {
  const int scale = options_.file.scale;
  const KeptPart part{(tile.keep_x - tile.x) * scale, (tile.keep_y - tile.y) * scale, tile.keep_x * scale,
                      tile.keep_y * scale,           tile.keep_width * scale,         tile.keep_height * scale};
  const Extent extent{part.width, part.height, 1};
  const auto launch = [&](const auto& kernel) { device_->Launch(MakeCall(kernel, extent), stream); };
  const Picture& out = inference.pictures[pass][batch_index];
  const Tensor made = OfBatch(inference.outputs[pass], batch_index);
  if (options_.file.layout == ModelFile::Layout::kRgb) {
    return launch(TensorToRgbPictureKernel{made, part, ToYcbcrMatrix(in_.color), out});
  }
  const LinearScale luma = LumaUnits(in_.color);
  if (options_.file.layout == ModelFile::Layout::kYcbcrStrength) {
    const float chroma_span = 1 / ChromaUnits(in_.color).scale;
    return launch(TensorToYcbcrPictureKernel{made, part, luma.offset, 1 / luma.scale, chroma_span, out});
  }
  launch(TensorToLumaKernel{made, part, luma.offset, 1 / luma.scale, out.planes[0]});
}

/// Everything after packing the first tensor, on the stream of the inference slot.
void NetworkRunner::EnqueueWhole(InferenceSlot& inference) {
  const StreamHandle stream = inference.stream.get();
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    const inference::Tile& whole = passes_[i].plan.tiles[0];
    for (int batch_index = 0; i > 0 && batch_index < batch_; ++batch_index) PackInput(inference, i, batch_index, inference.pictures[i - 1][batch_index], whole, stream);
    EnqueueNetwork(*inference.contexts[i], stream);
    for (int batch_index = 0; batch_index < batch_; ++batch_index) UnpackOutput(inference, i, batch_index, whole, stream);
  }
}

/// A network that cannot be captured runs without a graph. Other errors occur again without one, and are reported then.
void NetworkRunner::Capture(InferenceSlot& inference) {
  const StreamHandle stream = inference.stream.get();
  device_->BeginCapture(stream);
  bool is_whole = true;
  try {
    EnqueueWhole(inference);
  } catch (const Error&) {
    is_whole = false;
  }
  try {
    Graph graph(device_, device_->EndCapture(stream));  // ends the capture in any case: an open one would break the stream
    if (is_whole) inference.graph = std::move(graph);
  } catch (const Error&) {
    // The library ended the capture.
  }
}

void NetworkRunner::EnqueueTiles(InferenceSlot& inference, const Picture& in, StreamHandle stream) {
  for (std::size_t i = 0; i < passes_.size(); ++i) {
    for (const inference::Tile& tile : passes_[i].plan.tiles) {
      if (options_.is_stopped && options_.is_stopped()) throw Error(ErrorCode::kCancelled, "The work was cancelled.");
      PackInput(inference, i, 0, i == 0 ? in : inference.pictures[i - 1][0], tile, stream);
      EnqueueNetwork(*inference.contexts[i], stream);
      UnpackOutput(inference, i, 0, tile, stream);
    }
  }
}

/// Runs the network once `stage` has packed the input tensor.
void NetworkRunner::Run(InferenceSlot& inference, StreamHandle stage) {
  device_->MakeCurrent();
  const StreamHandle stream = inference.stream.get();
  device_->Record(inference.filled.get(), stage);
  device_->WaitOn(stream, inference.filled.get());
  if (inference.runs == 1) Capture(inference);
  inference.graph ? device_->LaunchGraph(inference.graph.get(), stream) : EnqueueWhole(inference);
  inference.runs = std::min(inference.runs + 1, 2);
  device_->Record(inference.done.get(), stream);
  inference.is_filled.assign(inference.is_filled.size(), false);
}

void NetworkRunner::Submit(int slot, const Picture& in, StreamHandle stage) {
  device_->MakeCurrent();
  InferenceSlot& inference = inference_slots_[slot / batch_];
  const int batch_index = slot % batch_;
  if (is_cut()) {
    EnqueueTiles(inference, in, stage);
    device_->Record(inference.done.get(), stage);
    return;
  }
  // The slot's last picture was waited for by `stage`, so nothing reads its part of the tensors any more.
  PackInput(inference, 0, batch_index, in, passes_[0].plan.tiles[0], stage);
  inference.is_filled[batch_index] = true;
  if (batch_index + 1 == batch_) Run(inference, stage);
}

void NetworkRunner::Wait(int slot, StreamHandle stage) {
  InferenceSlot& inference = inference_slots_[slot / batch_];
  if (inference.is_filled[slot % batch_]) Run(inference, stage);
  device_->WaitOn(stage, inference.done.get());
}

}  // namespace reelmend::cuda
