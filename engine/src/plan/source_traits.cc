#include "plan/source_traits.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "media/first_frame.h"
#include "media/frame_import.h"
#include "media/timestamps.h"
#include "pixel/stages.h"
#include "plan/compression_error.h"
#include "plan/tone_mapper.h"
#include "reelmend/error.h"

namespace reelmend::plan {
namespace {

/// Gathers traits frame by frame.
class TraitMeter {
 public:
  TraitMeter(AVCodecID codec, double peak_nits, int threads)
      : codec_(codec), peak_nits_(peak_nits), pool_(threads) {}

  void Add(const AVFrame& frame) {
    media::FrameImporter importer(frame, codec_);
    pixel::Image image(importer.width(), importer.height(), importer.subsampling(), importer.color().spec);
    importer.Run(frame, image, pool_);
    if (const auto tone_mapper = MakeToneMapper(importer.color(), peak_nits_)) {
      pixel::Image toned(image.width(), image.height(), image.subsampling(), {});
      tone_mapper->Run(image, toned, pool_);
      image = std::move(toned);
    }
    noise_.push_back(pixel::EstimateNoise(image, pool_));
    if (const auto error = CompressionErrorOf(frame)) coding_.push_back(*error);
    luma_.push_back(MeasureLuma(image));
    damage_.Add(image);
  }

  /// `rate_error` replaces the compression error if no frame had one.
  SourceTraits Traits(float rate_error) {
    if (noise_.empty()) return {};
    return {Median(noise_), LevelsOfVideo(luma_), coding_.empty() ? rate_error : Median(coding_), damage_.Estimate()};
  }

 private:
  static float Median(std::vector<float>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }

  AVCodecID codec_;
  double peak_nits_;
  pixel::ThreadPool pool_;
  std::vector<float> noise_;
  std::vector<float> coding_;
  std::vector<LumaFacts> luma_;
  DamageMeter damage_;
};

/// The error expected at the stream's bit rate, or at the file's if the container does not state the video's.
float RateError(const media::Demuxer& demuxer, const AVFrame& first, const ProbeResult& source, AVRational frame_rate) {
  const AVCodecParameters& codec = *demuxer.video()->codecpar;
  const double file_rate = source.duration_s > 0 ? static_cast<double>(source.size_bytes) * 8 / source.duration_s : 0;
  const std::int64_t rate = codec.bit_rate > 0 ? codec.bit_rate : static_cast<std::int64_t>(std::min(file_rate, 1e12));
  return CompressionErrorOfRate(codec.codec_id, rate, first.width, first.height, av_q2d(frame_rate));
}

}  // namespace

DamageEstimate DamageToDescribe(const SourceTraits& traits) {
  DamageEstimate damage = traits.damage;
  damage.compression_error = damage.known ? std::max(damage.compression_error, traits.compression_error) : traits.compression_error;
  return damage;
}

Damage DamageOf(const SourceTraits& traits) {
  Damage damage;
  damage.compression_error = traits.compression_error;
  damage.noise_sigma = traits.noise_sigma;
  if (!traits.damage.known) return damage;
  damage.seen_compression_error = traits.damage.compression_error;
  damage.blur_sigma = traits.damage.blur_sigma;
  damage.true_scale = traits.damage.true_scale;
  damage.effective_scale = traits.damage.effective_scale;
  return damage;
}

SourceTraits MeasureTraits(media::Demuxer& demuxer, const AVFrame& first, const SourceFacts& facts, const SourceLimits& limits, int threads) {
  TraitMeter meter(demuxer.video()->codecpar->codec_id, facts.peak_nits, threads);
  meter.Add(first);
  const float rate_error = RateError(demuxer, first, facts.probe, facts.frame_rate);
  demuxer.ReadVideoOnly();
  const std::int64_t start = first.best_effort_timestamp == AV_NOPTS_VALUE ? 0 : first.best_effort_timestamp;
  for (const double fraction : {0.25, 0.5, 0.75}) {
    const std::int64_t offset = media::ToTicks(fraction * facts.probe.duration_s, demuxer.video()->time_base);
    if (!demuxer.SeekBefore(start + offset)) break;
    try {
      media::SpanMeter span(*demuxer.video());
      meter.Add(*media::DecodeFirstFrame(demuxer, limits, span));
    } catch (const Error& error) {
      // The decoder of the job handles a damaged stretch in the middle.
      if (error.code() != ErrorCode::kUnreadableVideo) throw;
    }
  }
  return meter.Traits(rate_error);
}

}  // namespace reelmend::plan
