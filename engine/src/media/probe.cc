#include "reelmend/probe.h"

#include <cmath>
#include <utility>

#include "media/av_error.h"
#include "media/color_tags.h"
#include "media/completeness.h"
#include "media/duration.h"
#include "media/first_frame.h"
#include "media/frame_count.h"
#include "media/geometry.h"
#include "media/scrambling.h"

extern "C" {
#include <libavutil/pixdesc.h>
}

namespace reelmend::media {
namespace {

/// Most packets of video that are read for the first picture: a recording may begin anywhere between two key frames, ten
/// seconds apart at 60 frames a second.
constexpr int kPacketsToFirstFrame = 600;

Rational FrameRate(const AVStream& stream) {
  const AVRational rate = AverageFrameRate(stream);
  return {rate.num, rate.den};
}

AudioStreamInfo DescribeAudio(const AVStream& stream) {
  AudioStreamInfo info;
  info.codec = avcodec_get_name(stream.codecpar->codec_id);
  info.channels = stream.codecpar->ch_layout.nb_channels;
  info.sample_rate_hz = stream.codecpar->sample_rate;
  if (const AVDictionaryEntry* tag = av_dict_get(stream.metadata, "language", nullptr, 0)) {
    if (std::string(tag->value) != "und") info.language = tag->value;
  }
  return info;
}

}  // namespace

UniqueFrame DecodeFirstFrame(Demuxer& demuxer, const SourceLimits& limits, SpanMeter& meter) {
  VideoDecoder decoder(*demuxer.video(), limits, 1);
  decoder.ExportQuantisers();
  const UniquePacket packet = MakePacket();
  UniqueFrame first;
  const auto keep_first = [&](UniqueFrame frame) {
    if (!first) first = std::move(frame);
  };
  for (int count = 0; !first && count < kPacketsToFirstFrame && demuxer.ReadPacket(packet.get());) {
    if (packet->stream_index == demuxer.video()->index) {
      ++count;
      meter.Add(*packet);
      decoder.Decode(packet.get(), keep_first);
    }
    av_packet_unref(packet.get());
  }
  if (!first) decoder.Decode(nullptr, keep_first);
  if (!first) throw Error(ErrorCode::kUnreadableVideo, "No frame of the video can be decoded.");
  CheckPixelLimit(first->width, first->height, limits);
  meter.SetFirstFrame(first->best_effort_timestamp);
  return first;
}

ProbeResult DescribeSource(Demuxer& demuxer, AVFrame& first_frame) {
  AVStream* video = demuxer.video();
  CheckConvertible(*video, first_frame);
  const Orientation orientation = FindOrientation(*video, first_frame);
  const AVRational aspect = FindSampleAspectRatio(demuxer.context(), video, &first_frame);
  const Size displayed = DisplayedSize(first_frame.width, first_frame.height, aspect, orientation);
  ProbeResult result;
  result.container = demuxer.context()->iformat->name;
  result.video_codec = avcodec_get_name(video->codecpar->codec_id);
  const char* format = av_get_pix_fmt_name(static_cast<AVPixelFormat>(first_frame.format));
  result.pixel_format = format == nullptr ? "" : format;
  result.coded_width = first_frame.width;
  result.coded_height = first_frame.height;
  result.width = displayed.width;
  result.height = displayed.height;
  result.rotation_degrees = orientation.clockwise_degrees();
  result.frame_rate = FrameRate(*video);
  result.size_bytes = demuxer.size_bytes();
  for (const AVStream* stream : demuxer.audio()) result.audio.push_back(DescribeAudio(*stream));
  return result;
}

}  // namespace reelmend::media

namespace reelmend {
namespace {

/// Number of frames, as exact as the rate limit needs. Exact if all packets were read or the container has an index.
/// Otherwise, if the header declares a rate above the limit, the first packets are counted.
std::int64_t CountFrames(media::Demuxer& demuxer, ByteSource& source, const ProbeOptions& options, const ProbeResult& result,
                         const media::SpanMeter& meter) {
  if (options.walk_packets) return meter.packets();
  const std::int64_t indexed = media::IndexedFrames(demuxer);
  const double rate = static_cast<double>(result.frame_rate.num) / static_cast<double>(result.frame_rate.den);
  if (indexed > 0 || rate <= options.limits.max_frame_rate) return indexed;
  return media::CountDenseFrames(source, {options.limits, options.is_cancelled}, result.duration_s);
}

/// Decodes all frames, in a pass of its own, and returns their number. Throws Error{kUnreadableVideo} if one is damaged.
std::int64_t DecodeAll(ByteSource& source, const ProbeOptions& options) {
  media::Demuxer demuxer(source, {options.limits, options.is_cancelled});
  demuxer.ReadVideoOnly();
  media::VideoDecoder decoder(*demuxer.video(), options.limits, options.decoding_threads);
  decoder.RefuseDamage();
  std::int64_t damaged = 0;
  const auto check = [&damaged](const media::UniqueFrame& frame) {
    // Where the decoder conceals damage all the same, it marks the frame, if it has one thread.
    if ((frame->flags & AV_FRAME_FLAG_CORRUPT) != 0 || frame->decode_error_flags != 0) ++damaged;
  };
  const media::UniquePacket packet = media::MakePacket();
  while (demuxer.ReadPacket(packet.get())) {
    if (packet->stream_index == demuxer.video()->index) decoder.Decode(packet.get(), check);
    av_packet_unref(packet.get());
  }
  decoder.Decode(nullptr, check);
  if (damaged + decoder.undecodable() > 0) throw Error(ErrorCode::kUnreadableVideo, "Frames of the video are damaged.");
  return decoder.frames();
}

}  // namespace

ProbeResult Probe(ByteSource& source, const ProbeOptions& options) {
  media::Demuxer demuxer(source, {options.limits, options.is_cancelled});
  media::CheckComplete(demuxer, source);
  media::CheckUnscrambled(demuxer, source);
  media::SpanMeter meter(*demuxer.video());
  const media::UniqueFrame first = media::DecodeFirstFrame(demuxer, options.limits, meter);
  ProbeResult result = media::DescribeSource(demuxer, *first);
  if (result.frame_rate.num == 0) result.frame_rate = media::FirstSecondsRate(demuxer, meter);
  const media::Duration duration =
      options.walk_packets ? WalkedDuration(demuxer, meter) : DeclaredDuration(demuxer, meter, source);
  result.duration_s = duration.seconds;
  result.duration_is_exact = duration.is_exact;
  if (!(result.duration_s > 0) || !std::isfinite(result.duration_s)) {
    throw Error(ErrorCode::kUnreadableVideo, "The video's duration cannot be measured.");
  }
  if (options.limits.max_duration_s > 0 && result.duration_s > options.limits.max_duration_s) {
    throw Error(ErrorCode::kLimitExceeded, "The video is longer than this service takes.");
  }
  if (options.limits.max_frame_rate > 0) {
    media::CheckFrameRate(CountFrames(demuxer, source, options, result, meter), result.duration_s, options.limits);
  }
  if (options.decoding_threads > 0) result.decoded_frames = DecodeAll(source, options);
  return result;
}

ProbeResult ProbeFile(const std::string& path, const ProbeOptions& options) {
  media::FileSource source(path);
  return Probe(source, options);
}

}  // namespace reelmend
