// A GPU backend for tests on the stand-in device: OpenVINO runs the same ONNX file, as work of the given stream.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cuda_standin.h"
#include "inference/backend.h"
#include "inference/gpu_backend.h"
#include "inference/half.h"
#include "inference/onnx_half.h"
#include "reelmend/error.h"

namespace reelmend::cuda::testing {

/// Counts the calls of the stand-in backend, and sets the faults that it injects.
struct NetworkLog {
  std::atomic<int> asked = 0;  ///< builds that were started
  std::atomic<int> built = 0;
  std::atomic<int> level = -1;  ///< optimisation level of the last build
  std::atomic<int> loaded = 0;
  bool builds_slowly = false;  ///< like full TensorRT
  std::atomic<int> contexts = 0;  ///< contexts that exist now
  std::atomic<int> most_contexts = 0;  ///< maximum of `contexts`
  std::atomic<int> enqueued = 0;
  std::atomic<int> at_once = 0;       ///< pictures or batches that run now
  std::atomic<int> most_at_once = 0;  ///< maximum of `at_once`
  bool waits_for_second = false;  ///< the first picture waits until a second one runs, for 5 s at most
  std::int64_t workspace_bytes = 4096;  ///< per picture
  int fails_after = -1;  ///< number of runs before one fails; −1: none fails
  bool refuses_capture = false;
  bool refuses_batches = false;
  std::int64_t builds_up_to = -1;  ///< largest picture, in pixels, that the builder has memory for; −1: any
  std::string refuses;   ///< not empty: every build fails with this message
  bool refuses_contexts = false;  ///< the device has no memory for what a context needs beside its workspace
};

class StandInNetwork : public inference::GpuNetwork {
 public:
  StandInNetwork(StandInDevice& device, std::shared_ptr<NetworkLog> log, std::shared_ptr<inference::Network> network, int batch)
      : device_(device), log_(std::move(log)), network_(std::move(network)), batch_(batch) {}
  inference::Shape input_shape() const override { return network_->input_shape(); }
  inference::Shape output_shape() const override { return network_->output_shape(); }
  int batch() const override { return batch_; }
  std::int64_t workspace_bytes() const override { return log_->workspace_bytes * batch_; }

  std::unique_ptr<inference::GpuContext> MakeContext(const inference::GpuBinding& binding) override {
    if (log_->refuses_contexts) throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory for the network.");
    return std::make_unique<Context>(device_, log_, network_, binding, batch_);
  }

 private:
  class Context : public inference::GpuContext {
   public:
    Context(StandInDevice& device, std::shared_ptr<NetworkLog> log, std::shared_ptr<inference::Network> network, inference::GpuBinding binding,
            int batch)
        : device_(device), log_(std::move(log)), network_(std::move(network)), binding_(binding), batch_(batch),
          request_(log_->contexts++ % network_->requests()) {
      log_->most_contexts = std::max<int>(log_->most_contexts, log_->contexts);
    }
    ~Context() override { --log_->contexts; }

    void Enqueue(void* stream) override {
      if (log_->fails_after >= 0 && log_->enqueued >= log_->fails_after)
        throw Error(ErrorCode::kInternal, "The network failed while it ran.");
      if (log_->refuses_capture && StandInDevice::IsCapturing({stream}))
        throw Error(ErrorCode::kInternal, "The network failed while it ran.");
      ++log_->enqueued;
      device_.Put({stream}, [log = log_, network = network_, binding = binding_, batch = batch_, request = request_] {
        const int now = ++log->at_once;
        for (int most = log->most_at_once; now > most && !log->most_at_once.compare_exchange_weak(most, now);) {
        }
        WaitForSecond(*log);
        for (int index = 0; index < batch; ++index) Compute(*network, binding, index, request);
        --log->at_once;
      });
    }

   private:
    static void WaitForSecond(const NetworkLog& log) {
      if (!log.waits_for_second) return;
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (log.most_at_once < 2 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    static void Compute(inference::Network& network, const inference::GpuBinding& binding, int index, int request) {
      const auto* in = static_cast<const std::uint16_t*>(binding.input) + index * network.input_shape().count();
      std::transform(in, in + network.input_shape().count(), network.Input(request), inference::HalfToFloat);
      network.Start(request);
      network.Wait(request);
      auto* out = static_cast<std::uint16_t*>(binding.output) + index * network.output_shape().count();
      const float* const result = network.Output(request);
      std::transform(result, result + network.output_shape().count(), out, inference::FloatToHalf);
      // Overwrites the workspace: nothing may rely on its content.
      std::memset(binding.workspace, 0x5A, 64);
    }
    StandInDevice& device_;
    std::shared_ptr<NetworkLog> log_;
    std::shared_ptr<inference::Network> network_;
    inference::GpuBinding binding_;
    int batch_;
    int request_;
  };

  StandInDevice& device_;
  std::shared_ptr<NetworkLog> log_;
  std::shared_ptr<inference::Network> network_;
  int batch_;
};

class StandInBackend : public inference::GpuBackend {
 public:
  StandInBackend(std::shared_ptr<StandInDevice> device, std::shared_ptr<NetworkLog> log)
      : device_(std::move(device)), log_(std::move(log)), openvino_(inference::CreateBackend("openvino")) {}
  std::string name() const override { return "stand-in"; }
  std::string version() const override { return "1"; }
  bool Supports(const inference::GpuTarget&) const override { return true; }
  bool builds_anywhere() const override { return !log_->builds_slowly; }

  std::string Build(const std::string& onnx, const inference::GpuBuildOptions& options, inference::BackendCache&) override {
    ++log_->asked;
    if (!log_->refuses.empty()) throw Error(ErrorCode::kInvalidArgument, log_->refuses);
    if (log_->builds_up_to >= 0 && std::int64_t{options.input.width} * options.input.height > log_->builds_up_to)
      throw Error(ErrorCode::kLimitExceeded, "The GPU has too little free memory to build the network.");
    ++log_->built;
    log_->level = options.level;
    inference::Shape s = options.input;
    if (options.is_range()) s.width = s.height = 0;
    if (options.batch > 1 && log_->refuses_batches) throw Error(ErrorCode::kInvalidArgument, "The model takes one picture at a time.");
    return std::to_string(options.batch) + " " + std::to_string(s.channels) + " " + std::to_string(s.height) + " " + std::to_string(s.width) + "\n" + onnx;
  }

  std::unique_ptr<inference::GpuNetwork> Load(const std::string& engine, const inference::Shape& input, inference::BackendCache&) override {
    inference::Shape shape;
    int batch = 1;
    ++log_->loaded;
    const std::size_t end = engine.find('\n');
    if (std::sscanf(engine.c_str(), "%d %d %d %d", &batch, &shape.channels, &shape.height, &shape.width) != 4)
      throw Error(ErrorCode::kInvalidArgument, "The engine cannot be loaded: it is damaged.");
    if (shape.width == 0) shape = input;
    if (!(shape == input)) throw Error(ErrorCode::kInvalidArgument, "The engine is for pictures of another size.");
    const auto model = openvino_->Load(inference::WithBatch(engine.substr(end + 1), 1), "", "");  // computes the pictures of a batch one by one
    return std::make_unique<StandInNetwork>(*device_, log_, model->Compile({shape, 12, 2, false}), batch);
  }

 private:
  std::shared_ptr<StandInDevice> device_;
  std::shared_ptr<NetworkLog> log_;
  std::unique_ptr<inference::Backend> openvino_;
};

}  // namespace reelmend::cuda::testing
