#include "run/open_processor.h"

#include <utility>

#include "cpu/cpu_processor.h"
#include "cuda/cuda_processor.h"
#include "plan/device_name.h"
#include "reelmend/error.h"

namespace reelmend::run {
namespace {

/// An open device and the name that it was opened by.
struct PreparedProcessor : Preparation {
  std::string device;
  std::unique_ptr<device::Processor> processor;
};

bool NamesNetwork(const std::string& model) { return model != "auto" && model != "none"; }

}  // namespace

std::unique_ptr<device::Processor> OpenProcessor(const std::string& device, const std::string& model) {
  if (device == "cpu") return cpu::OpenCpu();
  if (device != "auto") {
    auto processor = cuda::OpenProcessor(plan::CudaIndex(device));
    if (!NamesNetwork(model) || processor->runs_networks()) return processor;
    throw Error(ErrorCode::kUnavailable, "No network can run on this GPU: " + processor->why_no_networks());
  }
  for (const cuda::DeviceFacts& facts : cuda::FindCudaDevices().devices) {
    try {
      auto processor = cuda::OpenProcessor(facts.index);
      if (!NamesNetwork(model) || processor->runs_networks()) return processor;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;  // the next one, else the CPU
    }
  }
  return cpu::OpenCpu();
}

std::unique_ptr<device::Processor> OpenPrepared(const EnhanceOptions& options, std::unique_ptr<Preparation> prepared) {
  auto* held = dynamic_cast<PreparedProcessor*>(prepared.get());
  const bool fits = held != nullptr && held->device == options.device &&
                    (!NamesNetwork(options.model) || held->processor->runs_networks());
  if (fits) return std::move(held->processor);
  prepared.reset();
  return OpenProcessor(options.device, options.model);
}

}  // namespace reelmend::run

namespace reelmend {

std::unique_ptr<Preparation> Prepare(const EnhanceOptions& options, const Expectation& expectation) {
  auto prepared = std::make_unique<run::PreparedProcessor>();
  prepared->device = options.device;
  prepared->processor = run::OpenProcessor(options.device, options.model);
  if (!prepared->processor->runs_networks()) return prepared;
  try {
    prepared->processor->Prepare(options, expectation);
  } catch (const Error&) {
    // Enhance repeats this and reports the error.
  }
  return prepared;
}

}  // namespace reelmend
