// The device that is a GPU: calls CUDA's runtime, linked statically, which loads the driver on first use.
#ifdef REELMEND_CUDA
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <mutex>

#include "cuda/device.h"
#include "cuda/kernels.h"

namespace reelmend::cuda {

/// In the files kernels_*.cu.
template <typename K>
cudaError_t LaunchOnGpu(const void* data, Extent extent, cudaStream_t stream);
/// Whether this build holds machine code for the current device.
cudaError_t CheckMachineCode();

namespace {

using LaunchFunction = cudaError_t (*)(const void* data, Extent extent, cudaStream_t stream);

template <typename... Kernels>
const LaunchFunction* TableOf(List<Kernels...>) {
  static constexpr LaunchFunction kTable[] = {LaunchOnGpu<Kernels>...};
  return kTable;
}

/// One sentence for an error of CUDA; ends with CUDA's name of it, for searching.
[[noreturn]] void Throw(cudaError_t error) {
  const std::string code = std::string(" (") + cudaGetErrorName(error) + ").";
  switch (error) {
    case cudaErrorMemoryAllocation: throw OutOfDeviceMemory("The GPU has too little free memory for this video.");
    case cudaErrorInsufficientDriver:
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion: throw Error(ErrorCode::kUnavailable, "The GPU cannot be used" + code);
    default: throw DeviceLost("The GPU stopped working while it processed the video" + code);
  }
}

void Check(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that the next call does not report it again
  Throw(error);
}

cudaStream_t Of(StreamHandle stream) { return static_cast<cudaStream_t>(stream.value); }
cudaEvent_t Of(EventHandle event) { return static_cast<cudaEvent_t>(event.value); }

class CudaDevice : public Device {
 public:
  explicit CudaDevice(DeviceFacts facts) : facts_(std::move(facts)) {
    Use();
    Check(CheckMachineCode());
  }

  const DeviceFacts& facts() const override { return facts_; }

  void* Allocate(std::size_t bytes) override {
    Use();
    void* memory = nullptr;
    Check(cudaMalloc(&memory, bytes));
    return memory;
  }
  void Free(void* memory) noexcept override {
    if (TryUse() == cudaSuccess) cudaFree(memory);
  }
  void* AllocatePinned(std::size_t bytes) override {
    Use();
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();  // the host's memory is exhausted, not the GPU's
    Check(error);
    return memory;
  }
  // The last owner may be destroyed on a thread that has used another GPU, or none. It must not get a context there.
  void FreePinned(void* memory) noexcept override {
    if (TryUse() == cudaSuccess) cudaFreeHost(memory);
  }
  std::size_t FreeBytes() override {
    Use();
    std::size_t free = 0;
    std::size_t total = 0;
    Check(cudaMemGetInfo(&free, &total));
    return free;
  }

  /// Libraries bring their own runtimes, which may have changed the thread's device.
  void MakeCurrent() override {
    Current() = -1;
    Use();
  }

  StreamHandle MakeStream() override {
    Use();
    cudaStream_t stream = nullptr;
    Check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return {stream};
  }
  void DestroyStream(StreamHandle stream) noexcept override {
    if (TryUse() == cudaSuccess) cudaStreamDestroy(Of(stream));
  }
  EventHandle MakeEvent() override {
    Use();
    cudaEvent_t event = nullptr;
    Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
    return {event};
  }
  void DestroyEvent(EventHandle event) noexcept override {
    if (TryUse() == cudaSuccess) cudaEventDestroy(Of(event));
  }
  void Record(EventHandle event, StreamHandle stream) override {
    Use();
    Check(cudaEventRecord(Of(event), Of(stream)));
  }
  void WaitOn(StreamHandle stream, EventHandle event) override {
    Use();
    Check(cudaStreamWaitEvent(Of(stream), Of(event), 0));
  }
  bool HasHappened(EventHandle event) override {
    Use();
    const cudaError_t answer = cudaEventQuery(Of(event));
    if (answer == cudaErrorNotReady) {
      cudaGetLastError();  // not an error, but CUDA keeps it as this thread's last one
      return false;
    }
    Check(answer);
    return true;
  }
  void WaitFor(EventHandle event) override {
    Use();
    Check(cudaEventSynchronize(Of(event)));
  }
  void WaitForStream(StreamHandle stream) override {
    Use();
    Check(cudaStreamSynchronize(Of(stream)));
  }

  void CopyAsync(const Copy& copy, StreamHandle stream) override {
    Use();
    if (copy.rows == 1) {
      Check(cudaMemcpyAsync(copy.to, copy.from, copy.row_bytes, cudaMemcpyDefault, Of(stream)));
      return;
    }
    Check(cudaMemcpy2DAsync(copy.to, static_cast<std::size_t>(copy.to_stride), copy.from,
                            static_cast<std::size_t>(copy.from_stride), copy.row_bytes, copy.rows, cudaMemcpyDefault,
                            Of(stream)));
  }
  void ClearAsync(void* memory, std::size_t bytes, StreamHandle stream) override {
    Use();
    Check(cudaMemsetAsync(memory, 0, bytes, Of(stream)));
  }
  void Launch(const KernelCall& call, StreamHandle stream) override {
    Use();
    Check(TableOf(KernelList{})[call.id](call.kernel, call.extent, Of(stream)));
  }

  void BeginCapture(StreamHandle stream) override {
    Use();
    // Relaxed: allocations by other threads (libav's pools) must not end the capture.
    Check(cudaStreamBeginCapture(Of(stream), cudaStreamCaptureModeRelaxed));
  }
  GraphHandle EndCapture(StreamHandle stream) override {
    Use();
    cudaGraph_t graph = nullptr;
    Check(cudaStreamEndCapture(Of(stream), &graph));
    cudaGraphExec_t runnable = nullptr;
    const cudaError_t error = cudaGraphInstantiate(&runnable, graph, 0);
    cudaGraphDestroy(graph);
    Check(error);
    return {runnable};
  }
  void LaunchGraph(GraphHandle graph, StreamHandle stream) override {
    Use();
    Check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph.value), Of(stream)));
  }
  void DestroyGraph(GraphHandle graph) noexcept override {
    if (TryUse() == cudaSuccess) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph.value));
  }

 private:
  static int& Current() noexcept {
    thread_local int current = -1;
    return current;
  }
  /// CUDA keeps the current device per thread, and every thread of a pipeline calls this.
  cudaError_t TryUse() noexcept {
    if (Current() == facts_.index) return cudaSuccess;
    const cudaError_t error = cudaSetDevice(facts_.index);
    Current() = error == cudaSuccess ? facts_.index : -1;
    return error;
  }
  void Use() { Check(TryUse()); }

  DeviceFacts facts_;
};

std::string NoDriver(cudaError_t error) {
  if (error == cudaErrorNoDevice) return "There is no NVIDIA GPU on this machine.";
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return "There is no NVIDIA driver on this machine.";
  dlclose(library);
  if (error == cudaErrorInsufficientDriver)
    return std::string("The NVIDIA driver of this machine is too old for this build's CUDA") +
           (CUDART_VERSION / 1000 == 13 ? " 13, which needs one of the 580 line or newer." : ".");
  return std::string("The NVIDIA driver of this machine does not answer (") + cudaGetErrorName(error) + ").";
}

CudaState Look() {
  CudaState state;
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) cudaGetLastError();
  if (error != cudaSuccess || count == 0) {
    state.reason = NoDriver(error == cudaSuccess ? cudaErrorNoDevice : error);
    return state;
  }
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties = {};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) {
      cudaGetLastError();
      continue;
    }
    state.devices.push_back({i, properties.name, properties.major, properties.minor, properties.totalGlobalMem});
  }
  if (state.devices.empty()) state.reason = "The NVIDIA driver of this machine does not describe its GPUs.";
  return state;
}

}  // namespace

CudaState FindCudaDevices() {
  static const CudaState state = Look();
  return state;
}

std::shared_ptr<Device> OpenCudaDevice(int index) {
  const CudaState state = FindCudaDevices();
  if (state.devices.empty()) throw Error(ErrorCode::kUnavailable, state.reason);
  for (const DeviceFacts& facts : state.devices) {
    if (facts.index != index) continue;
    // Threads that wait for the GPU sleep instead of spinning: decoder and muxer need the cores.
    if (cudaSetDevice(index) == cudaSuccess) cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
    cudaGetLastError();  // clears the error of setting flags after the context was created
    return std::make_shared<CudaDevice>(facts);
  }
  throw Error(ErrorCode::kUnavailable, "There is no GPU cuda:" + std::to_string(index) +
                                           " on this machine, which has " + std::to_string(state.devices.size()) + ".");
}

}  // namespace reelmend::cuda
#endif
