#include "cuda/network_rate.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "inference/model_loader.h"

namespace reelmend::cuda {

using inference::Concurrency;

namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 5;
constexpr double kSecondsOfRound = 0.02;
constexpr int kTurns = 4;                ///< runs of all slots in a round, at least
constexpr double kSecondsOfWarmUp = 0.3;  ///< time for an idle GPU to raise its clocks

/// Seconds that `pictures` take, one slot after the other.
double Run(Device& device, NetworkRunner& runner, const Picture& in, StreamHandle stage, int frames) {
  const auto start = Clock::now();
  for (int i = 0; i < frames; ++i) {
    const int slot = i % runner.slots();
    runner.Wait(slot, stage);
    runner.Submit(slot, in, stage);
  }
  for (int slot = 0; slot < runner.slots(); ++slot) runner.Wait(slot, stage);
  device.WaitForStream(stage);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Picture MakeEmptyPicture(DeviceArena& arena, const ModelFile& file, Size size) {
  const bool has_chroma = inference::MakesChroma(file.layout);
  return arena.MakePicture(size.width, size.height, has_chroma ? pixel::Subsampling{0, 0} : pixel::Subsampling{1, 1}, {});
}

double NetworkRate(const std::shared_ptr<Device>& device, NetworkOptions options, Size size) {
  options.may_cut = false;
  DeviceArena arena(device);
  const Stream stage = MakeStream(device);
  try {
    const Picture in = MakeEmptyPicture(arena, options.file, size);
    NetworkRunner runner(device, options, in);
    if (runner.slots() < options.concurrency.pictures()) return 0;
    const auto run = [&](int turns) { return Run(*device, runner, in, stage.get(), turns * runner.slots()); };
    // The first run of an inference slot prepares, the second is captured (Note [Inference slots]).
    for (double spent = run(2); spent < kSecondsOfWarmUp;) spent += run(kTurns);
    const int turns = std::clamp(static_cast<int>(kTurns * kSecondsOfRound / run(kTurns)), kTurns, 1'000);
    std::array<double, kRounds> rates{};
    for (double& rate : rates) rate = turns * runner.slots() / run(turns);
    std::nth_element(rates.begin(), rates.begin() + kRounds / 2, rates.end());
    return rates[kRounds / 2];
  } catch (const OutOfDeviceMemory&) {
    return 0;
  }
}

std::optional<Concurrency> ChooseConcurrency(const std::function<double(const Concurrency&)>& rate) {
  std::optional<Concurrency> best;
  double best_rate = 0;
  for (int batch = 1; batch <= kMostBatch; ++batch) {
    Concurrency chosen{kLeastContexts, batch};
    double chosen_rate = rate(chosen);
    while (chosen_rate > 0 && chosen.contexts < kMostContexts) {
      const double next = rate({chosen.contexts + 1, batch});
      if (next < chosen_rate * kWorthItsMemory) break;
      chosen_rate = next;
      ++chosen.contexts;
    }
    if (chosen_rate <= best_rate * kWorthItsMemory) break;
    best = chosen;
    best_rate = chosen_rate;
  }
  return best;
}

std::optional<Concurrency> MeasureConcurrency(const std::shared_ptr<Device>& device, const std::shared_ptr<inference::GpuModel>& model, Size size) {
  model->KeepEngine();
  NetworkOptions options;
  options.file = model->file();
  options.load = [model](int width, int height, int batch) { return model->Load(width, height, batch); };
  const auto chosen = ChooseConcurrency([&](const Concurrency& concurrency) {
    options.concurrency = concurrency;
    try {
      return NetworkRate(device, options, size);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
      if (concurrency.batch == 1) throw;
      return 0.0;  // the network is made for one picture
    }
  });
  model->LetGo();
  model->KeepBackendCache();  // kernels that were compiled meanwhile
  return chosen;
}

}  // namespace reelmend::cuda
