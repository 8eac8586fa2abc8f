#include "run/side_streams.h"

#include <algorithm>

extern "C" {
#include <libavutil/mathematics.h>
}

namespace reelmend::run {
namespace {

/// Longest sound after the end of a video of the longest duration.
constexpr double kSoundBeyond_s = 60;

std::vector<AVRational> TimeBases(const media::Demuxer& source) {
  std::vector<AVRational> bases;
  for (unsigned i = 0; i < source.context()->nb_streams; ++i) bases.push_back(source.context()->streams[i]->time_base);
  return bases;
}

}  // namespace

SideStreams::SideStreams(const media::Demuxer& source, std::int64_t video_start, double max_duration_s,
                         media::Muxer& muxer)
    : muxer_(muxer), max_duration_s_(max_duration_s), time_bases_(TimeBases(source)), chapters_(media::ReadChapters(*source.context())) {
  audio_.resize(source.context()->nb_streams);
  subtitles_.resize(source.context()->nb_streams);
  muxer.CopyMetadataOf(*source.context());
  for (const AVStream* stream : source.audio()) audio_[stream->index] = media::MakeAudioTrack(*stream, muxer);
  for (const AVStream* stream : source.subtitles()) {
    subtitles_[stream->index] = media::SubtitleTrack::Make(*stream, muxer);
  }
  ChooseOrigin(source, video_start == AV_NOPTS_VALUE ? 0 : video_start);
  for (const auto& track : audio_) {
    if (!track) continue;
    track->set_origin(origin_);
    if (max_duration_s > 0) track->set_longest_silence(max_duration_s + kSoundBeyond_s);
  }
  for (const auto& track : subtitles_) {
    if (track) track->set_origin(origin_);
  }
}

/// Sound before the source's own time 0 only primes the decoder; the muxer's edit list hides it.
void SideStreams::ChooseOrigin(const media::Demuxer& source, std::int64_t video_start) {
  constexpr double kBelievableLead_s = 60;
  const AVRational video_base = source.video()->time_base;
  video_start_ = origin_ = {video_start, video_base};
  for (const AVStream* stream : source.audio()) {
    if (!audio_[stream->index] || stream->start_time == AV_NOPTS_VALUE) continue;
    if (stream->codecpar->sample_rate <= 0) continue;  // no packet has been read: libav gives it the container's start
    if (av_compare_ts(stream->start_time, stream->time_base, origin_.time, origin_.time_base) >= 0) continue;
    const std::int64_t start = video_start >= 0 ? std::max<std::int64_t>(0, stream->start_time) : stream->start_time;
    const double lead_s = static_cast<double>(video_start) * av_q2d(video_base) -
                          static_cast<double>(start) * av_q2d(stream->time_base);
    if (lead_s < kBelievableLead_s) origin_ = {start, stream->time_base};
  }
}

std::int64_t SideStreams::VideoShift(AVRational time_base) const {
  return video_start_.In(time_base) - origin_.In(time_base);
}

void SideStreams::Send(const AVPacket& packet) {
  const auto index = static_cast<std::size_t>(packet.stream_index);
  if (index >= audio_.size() || IsBeyondCeiling(packet)) return;
  if (audio_[index]) audio_[index]->Send(packet);
  if (subtitles_[index]) subtitles_[index]->Send(packet);
}

bool SideStreams::IsBeyondCeiling(const AVPacket& packet) const {
  const AVRational base = time_bases_[static_cast<std::size_t>(packet.stream_index)];
  const std::int64_t time = packet.pts != AV_NOPTS_VALUE ? packet.pts : packet.dts;
  if (max_duration_s_ <= 0 || time == AV_NOPTS_VALUE) return false;
  return static_cast<double>(time - origin_.In(base)) * av_q2d(base) > max_duration_s_ + kSoundBeyond_s;
}

void SideStreams::FinishSound() {
  for (const auto& track : audio_) {
    if (track) track->Finish();
  }
}

void SideStreams::AdvanceTo(std::int64_t time, AVRational time_base) {
  for (const auto& track : subtitles_) {
    if (track) track->AdvanceTo(av_rescale_q(time, time_base, {1, 1'000'000}));
  }
}

void SideStreams::Finish(std::int64_t end, AVRational time_base) {
  for (const auto& track : subtitles_) {
    if (track) track->Finish(av_rescale_q(end, time_base, {1, 1'000'000}));
  }
  const double origin_s = static_cast<double>(origin_.time) * av_q2d(origin_.time_base);
  const double end_s = static_cast<double>(end) * av_q2d(time_base);
  for (media::Chapter& chapter : chapters_) {
    chapter.start_s = std::max(0.0, chapter.start_s - origin_s);
    chapter.end_s = std::min(end_s, chapter.end_s - origin_s);
  }
  std::erase_if(chapters_, [](const media::Chapter& c) { return c.end_s - c.start_s < 0.001; });
  muxer_.AddChapters(chapters_);
}

}  // namespace reelmend::run
