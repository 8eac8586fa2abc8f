// Measures the CUDA part of the engine: each kernel against the device's copy bandwidth, and frames per second of
// decoding, stages, encoding and the whole pipeline. Prints one JSON object. Fails without a GPU.
//   bench_gpu CLIP [cuda index]     CLIP: a few seconds of progressive 8-bit 4:2:0 video that NVDEC decodes
// A kernel's bytes are the minimum that it moves: each input read once, each output written once.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cuda/cuda_processor.h"
#include "cuda/stage_plan.h"
#include "media/demuxer.h"
#include "media/video_decoder.h"
#include "plan/plan.h"
#include "rotating_kernels.h"

namespace reelmend::cuda {
namespace {

using Clock = std::chrono::steady_clock;

double Since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::size_t Bytes(const Plane& plane) { return static_cast<std::size_t>(plane.width) * plane.height * 2; }
std::size_t Bytes(const Picture& picture) {
  return Bytes(picture.planes[0]) + Bytes(picture.planes[1]) + Bytes(picture.planes[2]);
}
template <typename T>
std::size_t Bytes(const View<T>& view) {
  return static_cast<std::size_t>(view.width) * view.height * sizeof(T);
}
template <typename In, typename Out, bool kAcross>
std::size_t Moved(const ResizeKernel<In, Out, kAcross>& k, Extent extent) {
  const std::size_t in = kAcross ? static_cast<std::size_t>(k.in[0].width) * k.rows
                                 : static_cast<std::size_t>(k.in[0].width) * k.in[0].height;
  return (in * sizeof(In) + static_cast<std::size_t>(k.out[0].width) * k.rows * sizeof(Out)) * extent.z;
}
std::size_t Moved(const ImportKernel& k, Extent) { return Bytes(k.out) + Bytes(k.out) / (k.in.bits == 8 ? 2 : 1); }
std::size_t Moved(const Tensor& tensor, int planes) {
  return static_cast<std::size_t>(planes) * tensor.width * tensor.height * 2;
}
std::size_t Moved(const LumaToTensorKernel& k, Extent) { return Bytes(k.luma) + Moved(k.out, k.out.channels); }
std::size_t Moved(const RgbToTensorKernel& k, Extent) { return Bytes(k.in) + Moved(k.out, k.out.channels); }
std::size_t Moved(const TensorToLumaKernel& k, Extent) { return Moved(k.in, 1) * 2; }
std::size_t Moved(const TensorToRgbPictureKernel& k, Extent) { return Moved(k.in, 3) + Bytes(k.out); }
std::size_t Moved(const YcbcrToTensorKernel& k, Extent) { return Bytes(k.in) + Moved(k.out, k.out.channels); }
std::size_t Moved(const TensorToYcbcrPictureKernel& k, Extent) { return Moved(k.in, 3) + Bytes(k.out); }
std::size_t Moved(const ToneKernelCall& k, Extent) { return Bytes(k.in) + Bytes(k.out); }
std::size_t Moved(const ShrinkKernel& k, Extent) { return Bytes(k.luma) / 2; }
std::size_t Moved(const SceneKernel& k, Extent) { return static_cast<std::size_t>(k.cells) * sizeof(float) * 3; }
std::size_t Moved(const MeanKernel& k, Extent) { return Bytes(k.luma) + Bytes(k.history.means[0]); }
std::size_t Moved(const MotionKernel& k, Extent) { return (Bytes(k.now) + Bytes(k.history.means[0])) * 4; }
std::size_t Moved(const MotionField& field) {
  return static_cast<std::size_t>(field.columns) * field.rows * pixel::kTemporalSteps * (sizeof(pixel::MotionVector) + sizeof(pixel::MotionErrors));
}
std::size_t Moved(const GlobalMotionKernel& k, Extent) { return Moved(k.field); }
template <typename Search>
std::size_t Moved(const GlobalErrorKernel<Search>& k, Extent) {
  return Bytes(k.search.now) * 4;
}
std::size_t Moved(const RefineKernel& k, Extent) { return Bytes(k.now) * 3; }
std::size_t Moved(const AccumulateKernel& k, Extent) { return Bytes(k.in) * 6; }
std::size_t Moved(const FollowGlobalKernel& k, Extent) { return Moved(k.field) * 2; }
std::size_t Moved(const TemporalKernel& k, Extent) { return Bytes(k.in) * 8; }
std::size_t Moved(const DenoiseKernel& k, Extent) { return Bytes(k.in) * 2; }
std::size_t Moved(const View<float>& cells) { return static_cast<std::size_t>(cells.width) * cells.height * sizeof(float); }
std::size_t Moved(const CellKernel& k, Extent) { return Bytes(k.in) + Moved(k.out[0].mean) * 9 / 2; }
std::size_t Moved(const PoolKernel& k, Extent) { return Moved(k.in[0].mean) * 9; }
std::size_t Moved(const DebandKernel& k, Extent) { return Bytes(k.picture) * 2 + Moved(k.around[0].mean) * 9 / 2; }
std::size_t Moved(const ContourCellKernel& k, Extent) { return Bytes(k.luma) + Moved(k.out.trace) * 3; }
std::size_t Moved(const ContourBlurKernel& k, Extent) { return Moved(k.in.trace) * 6; }
std::size_t Moved(const ContourKernel& k, Extent) { return Bytes(k.out) * 2 + Moved(k.lines.cells.trace) * 3; }
std::size_t Moved(const ContourSharpenKernel& k, Extent) { return Bytes(k.out) * 2 + Moved(k.lines.cells.trace) * 3; }
std::size_t Moved(const GuidedCellKernel& k, Extent) { return Bytes(k.in) + Moved(k.out.cells[0]) * 3; }
std::size_t Moved(const GuidedBlurKernel& k, Extent extent) { return Moved(k.in.cells[0]) * 2 * extent.z; }
std::size_t Moved(const GuidedProductKernel& k, Extent) { return Moved(k.planes.cells[0]) * 11; }
std::size_t Moved(const GuidedFitKernel& k, Extent) { return Moved(k.planes.cells[0]) * 14; }
std::size_t Moved(const GuidedChromaKernel& k, Extent) { return Bytes(k.picture) + Bytes(k.picture.planes[1]) * 2 + Moved(k.fits.cells[0]) * 6; }
std::size_t Moved(const CurveKernel& k, Extent) {
  return static_cast<std::size_t>(k.across) * k.down * pixel::kSamplesPerTile * 2;
}
std::size_t Moved(const LevelKernel& k, Extent) {
  return static_cast<std::size_t>(k.tiles) * (pixel::kMaxBins * 4 + pixel::kMaxSegments * sizeof(CurvePiece) * 2);
}
std::size_t Moved(const FinishLumaKernel& k, Extent) {
  return Bytes(k.luma.in.planes[0]) * 3 / 2 + (k.luma.mixes_chroma ? Bytes(k.luma.in.planes[1]) * 2 : 0);
}
std::size_t Moved(const FaceReduceKernel& k, Extent extent) { return Bytes(k.in) + std::size_t{12} * extent.x * extent.y; }
std::size_t Moved(const FaceSquareKernel& k, Extent extent) { return std::size_t{12} * k.side * k.side * extent.z; }
std::size_t Moved(const FaceToTensorKernel& k, Extent) { return Moved(k.out, 3); }
std::size_t Moved(const FaceChangeKernel& k, Extent) { return Moved(k.crop, 3) * 4; }
std::size_t Moved(const FaceBlendKernel&, Extent extent) { return std::size_t{6} * extent.x * extent.y; }
std::size_t Moved(const FinishChromaKernel& k, Extent) { return Bytes(k.in.planes[1]) * 3; }

template <typename... Kernels>
std::size_t MovedBy(const KernelCall& call, List<Kernels...>) {
  std::size_t bytes = 0;
  ((call.id == kKernelId<Kernels> ? (bytes = Moved(*reinterpret_cast<const Kernels*>(call.kernel), call.extent), 0)
                                  : 0),
   ...);
  return bytes;
}

/// Median seconds of one launch over nine rounds of `repeats` launches in a row, after a warm-up.
template <typename Work>
double Seconds(Device& device, StreamHandle stream, int repeats, const Work& work) {
  std::vector<double> rounds;
  for (int round = -2; round < 9; ++round) {
    device.WaitForStream(stream);
    const auto start = Clock::now();
    for (int i = 0; i < repeats; ++i) work();
    device.WaitForStream(stream);
    if (round >= 0) rounds.push_back(Since(start) / repeats);
  }
  std::nth_element(rounds.begin(), rounds.begin() + 4, rounds.end());
  return rounds[4];
}

/// Bytes per second that a large copy within the device reads and writes.
double CopyBandwidth(const std::shared_ptr<Device>& device, StreamHandle stream) {
  constexpr std::size_t kBytes = std::size_t{512} << 20;
  const DeviceMemory from = MakeDeviceMemory(device, kBytes);
  const DeviceMemory to = MakeDeviceMemory(device, kBytes);
  device->ClearAsync(from.get(), kBytes, stream);
  return 2.0 * kBytes /
         Seconds(*device, stream, 10, [&] { device->CopyAsync({to.get(), 0, from.get(), 0, kBytes, 1}, stream); });
}

/// Times each kernel of one frame with all stages on. Repeated calls rotate through copies of the frame (rotating_kernels.h).
void BenchKernels(const std::shared_ptr<Device>& device, double bandwidth, int width, int height, int out_width,
                  int out_height, bool is_hdr, bool is_last) {
  const Stream stream = MakeStream(device);
  StageOptions options = AllStages(width, height, out_width, out_height);
  if (is_hdr) options.tone = pixel::ToneMapOptions{};
  const RotatingFrames frames(device, options, stream.get());
  std::printf("    {\"from\": \"%dx%d\", \"to\": \"%dx%d\", \"hdr\": %s, \"copies\": %d, \"kernels\": [\n", width, height,
              out_width, out_height, is_hdr ? "true" : "false", frames.count());
  const std::vector<KernelCall>& calls = frames.calls(0);
  double total = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const RotatingFrames::Rotation rotation = frames.Capture(i, stream.get());
    const double seconds =
        Seconds(*device, stream.get(), 4, [&] { device->LaunchGraph(rotation.graph.get(), stream.get()); }) / rotation.launches;
    const auto bytes = static_cast<double>(MovedBy(calls[i], KernelList{}));
    total += seconds;
    std::printf("      {\"name\": \"%s\", \"ms\": %.4f, \"mb\": %.2f, \"gb_per_s\": %.1f, \"of_copy\": %.3f}%s\n",
                kKernelNames[calls[i].id], seconds * 1e3, bytes / 1e6, bytes / seconds / 1e9,
                bytes / seconds / bandwidth, i + 1 < calls.size() ? "," : "");
  }
  std::printf("    ], \"sum_ms\": %.4f}%s\n", total * 1e3, is_last ? "" : ",");
}

struct Gpu {
  explicit Gpu(int index) : device(OpenCudaDevice(index)), decode(MakeStream(device)) {
    Stream compute = MakeStream(device);
    processor = MakeProcessor(device, std::move(compute), OpenCodecBridge(device, decode.get()));
  }
  std::shared_ptr<Device> device;
  Stream decode;
  std::unique_ptr<device::Processor> processor;
};

struct Decoded {
  std::vector<media::UniqueFrame> first;  ///< a few frames, the input of the stages
  std::int64_t frames = 0;
  double seconds = 0;
  AVCodecID codec = AV_CODEC_ID_NONE;
};

Decoded BenchDecode(const std::string& clip, Gpu& gpu) {
  media::FileSource source(clip);
  media::Demuxer demuxer(source, {});
  demuxer.ReadVideoOnly();
  media::VideoDecoder decoder(*demuxer.video(), {}, 1, gpu.processor->decoder_device());
  Decoded decoded;
  decoded.codec = demuxer.video()->codecpar->codec_id;
  const auto keep = [&](media::UniqueFrame frame) {
    if (decoded.first.size() < 4) decoded.first.push_back(std::move(frame));
  };
  const media::UniquePacket packet = media::MakePacket();
  const auto start = Clock::now();
  while (demuxer.ReadPacket(packet.get())) {
    decoder.Decode(packet.get(), keep);
    av_packet_unref(packet.get());
  }
  decoder.Decode(nullptr, keep);
  gpu.device->WaitForStream(gpu.decode.get());
  decoded.seconds = Since(start);
  decoded.frames = decoder.frames();
  return decoded;
}

media::VideoEncoderOptions EncoderOf(const plan::Plan& plan) {
  media::VideoEncoderOptions options;
  options.width = plan.output.width;
  options.height = plan.output.height;
  options.time_base = plan.time_base;
  options.frame_rate = plan.frame_rate;
  options.threads = 16;
  return options;
}

void BenchPipeline(const std::string& clip, int index) {
  EnhanceOptions options;
  options.model = "none";
  options.device = "cuda:" + std::to_string(index);
  options.denoise = options.sharpen = options.adaptive_contrast = {Strength::Mode::kFixed, 0.4F};
  const plan::Plan plan = plan::MakePlan(clip, options, {4});
  Gpu gpu(index);
  const Decoded decoded = BenchDecode(clip, gpu);
  const bool is_on_gpu = !decoded.first.empty() && decoded.first[0]->format == AV_PIX_FMT_CUDA;
  const auto encoder = gpu.processor->MakeEncoder(EncoderOf(plan), 3);
  device::StageClocks clocks;
  const auto chain = gpu.processor->MakeChain({plan, decoded.codec, 4, clocks, {}});
  const int frames = 300;
  media::UniqueFrame last;
  const auto stages = [&] {
    const auto start = Clock::now();
    for (int i = 0; i < frames; ++i) {
      chain->Submit(*decoded.first[static_cast<std::size_t>(i) % decoded.first.size()], false);
      last = encoder->TakeFrame();
      chain->Retrieve(last.get());
    }
    encoder->Encode(*last, 0, 1, [](AVPacket&) {});  // waits until the last frame is written
    return frames / Since(start);
  };
  stages();
  const double stages_fps = stages();
  const auto start = Clock::now();
  for (int i = 1; i <= frames; ++i) encoder->Encode(*last, i * 3600, 3600, [](AVPacket&) {});
  encoder->Drain([](AVPacket&) {});
  const double encode_fps = frames / Since(start);
  const std::string output = clip + ".gpu.mp4";
  const EnhanceResult result = Enhance(clip, output, options);
  std::remove(output.c_str());
  const double decode_fps = static_cast<double>(decoded.frames) / decoded.seconds;
  const double pipeline_fps = static_cast<double>(result.frames) / result.wall_seconds;
  const double slowest = std::min({decode_fps, stages_fps, encode_fps});
  std::printf(
      "  \"fps\": {\"decode\": %.1f, \"stages\": %.1f, \"encode\": %.1f, \"pipeline\": %.1f, \"of_slowest\": %.3f},\n",
      decode_fps, stages_fps, encode_fps, pipeline_fps, pipeline_fps / slowest);
  std::printf("  \"decoder\": \"%s\", \"encoder\": \"%s\", \"frames\": %lld, \"output\": \"%dx%d\"\n",
              is_on_gpu ? "nvdec" : "cpu", encoder->context().codec->name, static_cast<long long>(result.frames),
              result.width, result.height);
}

int Run(const std::string& clip, int index) {
  const auto device = OpenCudaDevice(index);
  const DeviceFacts& facts = device->facts();
  const Stream stream = MakeStream(device);
  const double bandwidth = CopyBandwidth(device, stream.get());
  std::printf("{\n  \"device\": \"%s\", \"compute\": \"%d.%d\", \"copy_gb_per_s\": %.1f,\n  \"sizes\": [\n",
              facts.name.c_str(), facts.compute_major, facts.compute_minor, bandwidth / 1e9);
  BenchKernels(device, bandwidth, 1280, 720, 1920, 1080, false, false);
  BenchKernels(device, bandwidth, 1920, 1080, 3840, 2160, false, false);
  BenchKernels(device, bandwidth, 3840, 2160, 1920, 1080, true, true);
  std::printf("  ],\n");
  BenchPipeline(clip, index);
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace reelmend::cuda

int main(int count, char** arguments) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // line-buffered: an interrupted run keeps the measurements so far
  try {
    reelmend::cuda::OpenCudaDevice(count > 2 ? std::atoi(arguments[2])
                                              : 0);  // first: without a GPU it throws one clear error
    if (count < 2) throw std::runtime_error("A clip is needed: bench_gpu CLIP [index].");
    return reelmend::cuda::Run(arguments[1], count > 2 ? std::atoi(arguments[2]) : 0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench:gpu: %s\n", error.what());
    return 1;
  }
}
