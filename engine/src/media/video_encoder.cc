#include "media/video_encoder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "media/av_error.h"

extern "C" {
#include <libavutil/mathematics.h>
#include <libavutil/opt.h>
}

namespace reelmend::media {
namespace {

constexpr int kKeyIntervalSeconds = 2;
constexpr int kAlign = 64;
constexpr std::int64_t kLargestBitrate = 1'000'000'000;

constexpr int AlignUp(int value) { return (value + kAlign - 1) / kAlign * kAlign; }

constexpr std::array<std::string_view, 10> kPresets = {"ultrafast", "superfast", "veryfast", "faster",   "fast",
                                                       "medium",    "slow",      "slower",   "veryslow", "placebo"};

/// These presets have no macroblock tree. `ultrafast` detects no cuts.
constexpr std::string_view kPresetWithoutLookahead = "superfast";

/// Share of the key interval within which no cut becomes a key frame.
constexpr std::int64_t kCutsInInterval = 10;

/// NVENC's presets, as fast or small as x264's.
constexpr std::array<const char*, kPresets.size()> kNvencPresets = {"p1", "p1", "p3", "p3", "p4",
                                                                    "p4", "p5", "p6", "p7", "p7"};

/// NVENC's cq of 0 means a bit rate of its own choice.
constexpr float kBestCq = 0.1F;

/// Errors of libav that mean that NVENC is missing: a device without an encoder, a missing feature or size, and (−1,
/// EPERM) a missing driver library. Waiting for other sessions to end changes none of them.
bool IsUnsupported(int result) { return result == AVERROR(ENOENT) || result == AVERROR(ENOSYS) || result == AVERROR(EPERM); }

}  // namespace

void CheckQuality(const EncoderOptions& quality) {
  if (std::ranges::find(kPresets, quality.preset) == kPresets.end()) {
    throw Error(ErrorCode::kInvalidArgument, "There is no encoder preset named “" + quality.preset + "”.");
  }
  if (!(quality.crf >= 1.0F && quality.crf <= 51.0F)) {
    throw Error(ErrorCode::kInvalidArgument, "The encoder's crf must lie between 1 and 51.");
  }
  if (quality.max_bitrate < 0 || quality.max_bitrate > kLargestBitrate) {
    throw Error(ErrorCode::kInvalidArgument, "The encoder's largest bitrate must lie between 0 and 1 Gbit/s.");
  }
}

std::int64_t DecodeTimes::Next(std::int64_t frame_ticks) {
  if (next_ == 0) {
    // Encoders hold frames back, so kDelay more times are known by now, unless the video is shorter.
    const bool is_known = shown_.size() > kDelay;
    lead_ = is_known ? shown_[kDelay] - shown_[0] : kDelay * frame_ticks;
  }
  const std::int64_t packet = next_++;
  if (packet < kDelay) {
    // Within the lead, whatever the distance of the frames, and before the first of them.
    return shown_.front() - lead_ + packet * lead_ / kDelay;
  }
  const std::int64_t frame = packet - kDelay;
  while (first_ < frame) shown_.pop_front(), ++first_;
  return shown_.front();
}

LatestDecoding::LatestDecoding(AVRational frame_rate, AVRational time_base)
    : longest_lead_(std::clamp(av_rescale_q(3, av_inv_q(frame_rate), time_base), av_rescale_q(1, {1, 1}, time_base),
                               av_rescale_q(10, {1, 1}, time_base))) {}

std::int64_t LatestDecoding::Of(std::int64_t encoder_time, std::int64_t next_shown) {
  last_ = std::max({encoder_time, next_shown - longest_lead_, last_ + 1});
  return last_;
}

VideoEncoder::VideoEncoder(const VideoEncoderOptions& options)
    : packet_(MakePacket()),
      knows_cuts_(options.knows_cuts),
      key_interval_(av_rescale_q(kKeyIntervalSeconds, {1, 1}, options.time_base)),
      next_key_(std::numeric_limits<std::int64_t>::min()),
      last_key_(std::numeric_limits<std::int64_t>::min()),
      frame_ticks_(std::max<std::int64_t>(1, av_rescale_q(1, av_inv_q(options.frame_rate), options.time_base))),
      latest_decoding_(options.frame_rate, options.time_base) {
  CheckQuality(options.quality);
  const bool is_nvenc = options.hw_frames != nullptr;
  const AVCodec* codec = avcodec_find_encoder_by_name(is_nvenc ? "h264_nvenc" : "libx264");
  if (codec == nullptr) {
    throw Error(ErrorCode::kUnavailable,
                std::string("This build of libavcodec has no ") + (is_nvenc ? "h264_nvenc." : "libx264."));
  }
  context_.reset(CheckAlloc(avcodec_alloc_context3(codec)));
  AVCodecContext& c = *context_;
  c.width = options.width;
  c.height = options.height;
  c.pix_fmt = AV_PIX_FMT_YUV420P;
  c.time_base = options.time_base;
  c.framerate = options.frame_rate;
  c.sample_aspect_ratio = {1, 1};
  c.colorspace = options.color.matrix;
  c.color_primaries = options.color.primaries;
  c.color_trc = options.color.transfer;
  c.color_range = AVCOL_RANGE_MPEG;
  c.chroma_sample_location = AVCHROMA_LOC_LEFT;
  c.thread_count = options.threads;
  c.flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
  // Key frames come from the grid in Encode; this bound only holds for frame rates far above the average.
  const double frames = av_q2d(options.frame_rate) * kKeyIntervalSeconds;
  c.gop_size = static_cast<int>(std::clamp(std::ceil(frames), 1.0, 1000.0));
  LimitBitrate(options.quality.max_bitrate);
  is_nvenc ? OpenNvenc(options) : OpenX264(options);
}

/// A decoder's buffer (VBV) of half a second limits the rate. With a longer one, a short video could exceed the rate by the
/// buffer's initial content; a shorter one has no space for key frames.
void VideoEncoder::LimitBitrate(std::int64_t max_bitrate) {
  if (max_bitrate == 0) return;
  context_->rc_max_rate = max_bitrate;
  context_->rc_buffer_size = static_cast<int>(max_bitrate / 2);
}

void VideoEncoder::OpenX264(const VideoEncoderOptions& options) {
  Dictionary settings;
  settings.Set("preset", options.quality.preset.c_str());
  settings.Set("crf", std::to_string(options.quality.crf).c_str());
  settings.Set("profile", "high");
  settings.Set("forced-idr", std::int64_t{1});
  if (options.is_reproducible) settings.Set("x264-params", "cpu-independent=1");
  if (options.knows_cuts && options.quality.preset == kPresetWithoutLookahead) settings.Set("sc_threshold", std::int64_t{0});
  CheckAv(avcodec_open2(context_.get(), nullptr, settings.address()), ErrorCode::kInternal,
          "The encoder cannot be started");
  stride_[0] = AlignUp(options.width);
  stride_[1] = stride_[2] = AlignUp(options.width / 2);
  const std::size_t size = std::size_t(stride_[0]) * options.height + std::size_t(stride_[1]) * options.height + kAlign;
  pool_.reset(CheckAlloc(av_buffer_pool_init(size, nullptr)));
}

/// Constant quality with the same number as x264's crf. The number of frames that NVENC holds is set, so that callers can
/// rely on it.
void VideoEncoder::OpenNvenc(const VideoEncoderOptions& options) {
  AVCodecContext& c = *context_;
  c.pix_fmt = AV_PIX_FMT_CUDA;
  c.hw_frames_ctx = CheckAlloc(av_buffer_ref(options.hw_frames));
  c.max_b_frames = 2;
  c.bit_rate = 0;
  const auto preset = std::ranges::find(kPresets, options.quality.preset) - kPresets.begin();
  Dictionary settings;
  settings.Set("preset", kNvencPresets[static_cast<std::size_t>(preset)]);
  settings.Set("rc", "vbr");
  settings.Set("cq", std::to_string(std::max(options.quality.crf, kBestCq)).c_str());
  settings.Set("spatial-aq", std::int64_t{1});
  settings.Set("profile", "high");
  settings.Set("forced-idr", std::int64_t{1});
  if (options.hw_surfaces > 0) settings.Set("surfaces", std::int64_t{options.hw_surfaces});
  const int result = avcodec_open2(&c, nullptr, settings.address());
  if (result >= 0) return;
  if (IsUnsupported(result)) throw EncoderUnsupported("The GPU does not encode this video (" + AvErrorText(result) + ").");
  // ENOMEM counts, too: drivers return it when all sessions are taken.
  throw Error(ErrorCode::kUnavailable,
              "The GPU's encoder cannot be started; all of its sessions may be taken (" + AvErrorText(result) + ").");
}

int VideoEncoder::hw_surfaces() const {
  std::int64_t surfaces = 0;
  CheckAv(av_opt_get_int(context_->priv_data, "surfaces", 0, &surfaces), ErrorCode::kInternal,
          "The GPU's encoder does not report how many frames it holds");
  return static_cast<int>(surfaces);
}

UniqueFrame VideoEncoder::TakeFrame() {
  UniqueFrame frame = MakeFrame();
  frame->width = context_->width;
  frame->height = context_->height;
  frame->format = AV_PIX_FMT_YUV420P;
  frame->buf[0] = CheckAlloc(av_buffer_pool_get(pool_.get()));
  const auto address = reinterpret_cast<std::uintptr_t>(frame->buf[0]->data);
  std::uint8_t* data = frame->buf[0]->data + ((kAlign - address % kAlign) % kAlign);
  const int rows[3] = {frame->height, frame->height / 2, frame->height / 2};
  for (int plane = 0; plane < 3; ++plane) {
    frame->data[plane] = data;
    frame->linesize[plane] = stride_[plane];
    data += std::ptrdiff_t(stride_[plane]) * rows[plane];
  }
  frame->extended_data = frame->data;
  return frame;
}

bool VideoEncoder::StartsGroup(std::int64_t pts, bool is_cut) const {
  return pts >= next_key_ || (is_cut && pts - last_key_ >= key_interval_ / kCutsInInterval);
}

void VideoEncoder::Encode(AVFrame& frame, std::int64_t pts, std::int64_t duration,
                          const std::function<void(AVPacket&)>& on_packet) {
  for (; duration > kLongestSample; pts += kLongestSample, duration -= kLongestSample) EncodeSample(frame, pts, kLongestSample, on_packet);
  EncodeSample(frame, pts, duration, on_packet);
}

void VideoEncoder::EncodeSample(AVFrame& frame, std::int64_t pts, std::int64_t duration,
                                const std::function<void(AVPacket&)>& on_packet) {
  frame.pts = pts;
  const bool is_cut = knows_cuts_ && frame.pict_type == AV_PICTURE_TYPE_I;
  frame.pict_type = AV_PICTURE_TYPE_NONE;
  if (StartsGroup(pts, is_cut)) {
    frame.pict_type = AV_PICTURE_TYPE_I;
    last_key_ = pts;
    const std::int64_t cell = pts >= 0 ? pts / key_interval_ : -1 - (-1 - pts) / key_interval_;
    next_key_ = (cell + 1) * key_interval_;
  }
  timings_.push_back({pts, duration});
  if (is_on_gpu()) decode_times_.AddFrame(pts);
  CheckEncoder(avcodec_send_frame(context_.get(), &frame));
  Receive(on_packet);
}

/// A GPU's encoder fails with its GPU, and another device may succeed. A failure of libx264 is ours.
void VideoEncoder::CheckEncoder(int result) const {
  if (is_on_gpu() && result == AVERROR(ENOMEM)) {
    throw Error(ErrorCode::kUnavailable, "The GPU has too little free memory for the encoder.");
  }
  CheckAv(result, is_on_gpu() ? ErrorCode::kUnavailable : ErrorCode::kInternal, "The encoder failed");
}

void VideoEncoder::Drain(const std::function<void(AVPacket&)>& on_packet) {
  const int result = avcodec_send_frame(context_.get(), nullptr);
  if (result != AVERROR_EOF) CheckEncoder(result);
  Receive(on_packet);
}

std::int64_t VideoEncoder::TakeDuration(std::int64_t pts) {
  const auto found = std::ranges::find(timings_, pts, &Timing::pts);
  if (found == timings_.end()) return 0;
  const std::int64_t duration = found->duration;
  timings_.erase(found);
  return duration;
}

void VideoEncoder::Receive(const std::function<void(AVPacket&)>& on_packet) {
  for (;;) {
    const int result = avcodec_receive_packet(context_.get(), packet_.get());
    if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
    CheckEncoder(result);
    packet_->duration = TakeDuration(packet_->pts);
    if (is_on_gpu()) packet_->dts = decode_times_.Next(frame_ticks_);
    const std::int64_t next_shown = timings_.empty() ? packet_->pts : std::min(packet_->pts, timings_.front().pts);
    packet_->dts = latest_decoding_.Of(packet_->dts, next_shown);
    packet_->time_base = context_->time_base;
    on_packet(*packet_);
    av_packet_unref(packet_.get());
  }
}

}  // namespace reelmend::media
