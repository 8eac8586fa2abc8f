#include <algorithm>
#include <chrono>
#include <vector>

#include "device/cores.h"
#include "faces/restorer.h"
#include "inference/frame_network.h"
#include "inference/model_loader.h"
#include "reelmend/error.h"
#include "reelmend/model.h"

namespace reelmend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRounds_ms = 800;  ///< no further round begins after this time

double Milliseconds(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

/// A ramp: something other than zeros, which some processors multiply faster.
void FillRamp(const inference::InputArea& area, int planes) {
  const std::int64_t count = std::int64_t{area.width} * area.height * planes;
  for (std::int64_t i = 0; i < count; ++i) area.data[i] = static_cast<float>(i % 251) / 250.0F;
}

/// A network for faces: one grey crop after the other.
ModelReport CheckFaceModel(const ModelFile& model, const ModelTrial& trial, int threads) {
  const auto start = Clock::now();
  const auto backend = inference::CreateBackend("openvino");
  faces::FaceRestorer restorer(*backend, model, threads);
  ModelReport report;
  report.load_ms = Milliseconds(start);
  report.backend = backend->name();
  report.precision = "fp32";
  report.input_width = report.output_width = restorer.side();
  report.input_height = report.output_height = restorer.side();
  pixel::ThreadPool pool(threads);
  pixel::Image picture(restorer.side(), restorer.side(), {1, 1}, {});
  for (int plane = 0; plane < 3; ++plane) {
    const pixel::Plane samples = picture.plane(plane);
    for (int y = 0; y < samples.height; ++y) std::fill_n(samples.Row(y), samples.width, std::uint16_t{32768});
  }
  restorer.Run(picture, picture, faces::AlignedPoints(restorer.side()), 1, pool);  // warms caches and threads
  const auto timed = Clock::now();
  for (int i = 0; i < trial.frames; ++i) restorer.Run(picture, picture, faces::AlignedPoints(restorer.side()), 1, pool);
  report.ms_per_frame = Milliseconds(timed) / trial.frames;
  return report;
}

/// Frames back to back, as many in flight as in the pipeline; the first ones warm caches and threads.
double TimeRound_ms(inference::FrameNetwork& network, const inference::FrameNetwork::PackInput& fill, int frames) {
  const auto take = [](const inference::OutputArea&) {};
  for (int i = 0; i < network.depth(); ++i) network.Submit(fill);
  std::vector<double> times;
  auto last = Clock::now();
  for (int i = 0; i < network.depth() + frames; ++i) {
    network.Retrieve(take);
    if (i < frames) network.Submit(fill);
    times.push_back(Milliseconds(last));
    last = Clock::now();
  }
  // Frames in flight end in bunches: the mean over the timed ones, not the luckiest of them.
  double sum = 0;
  const int timed = std::min<int>(frames, static_cast<int>(times.size()) - network.depth());
  for (int i = 0; i < timed; ++i) sum += times[static_cast<std::size_t>(network.depth() + i)];
  return sum / std::max(1, timed);
}

}  // namespace

ModelReport CheckModel(const ModelFile& model, const ModelTrial& trial) {
  if (trial.width < 1 || trial.height < 1 || trial.frames < 1 || trial.rounds < 1 || trial.threads < 0) {
    throw Error(ErrorCode::kInvalidArgument, "A trial needs a frame of at least 1×1, one frame, one round and no negative threads.");
  }
  const int threads = trial.threads > 0 ? trial.threads : device::AvailableCores();
  if (model.layout == ModelFile::Layout::kFace) return CheckFaceModel(model, trial, threads);
  const auto start = Clock::now();
  const auto backend = inference::CreateBackend("openvino");
  inference::FrameNetworkOptions options;
  options.width = trial.width;
  options.height = trial.height;
  options.threads = threads;
  inference::FrameNetwork network(*backend, model, options);
  ModelReport report;
  report.load_ms = Milliseconds(start);
  report.backend = backend->name();
  report.precision = network.precision();
  report.input_width = trial.width;
  report.input_height = trial.height;
  report.output_width = network.output_width();
  report.output_height = network.output_height();
  report.tiles = static_cast<int>(network.tiles().tiles.size());
  report.working_bytes = network.working_bytes();
  const int planes = inference::InputPlanes(model.layout);
  const auto fill = [&](const inference::InputArea& area) { FillRamp(area, planes); };
  const auto timed = Clock::now();
  report.ms_per_frame = TimeRound_ms(network, fill, trial.frames);
  for (int round = 1; round < trial.rounds && Milliseconds(timed) < kRounds_ms; ++round) {
    report.ms_per_frame = std::min(report.ms_per_frame, TimeRound_ms(network, fill, trial.frames));
  }
  return report;
}

}  // namespace reelmend
