#include "media/audio_resampler.h"

#include <cstdint>
#include <vector>

#include "media/av_error.h"
#include "media/channel_layouts.h"

extern "C" {
#include <libavutil/channel_layout.h>
}

namespace reelmend::media {

UniqueFrame MakeSoundFrame(const AVCodecContext& encoder, int samples) {
  UniqueFrame frame = MakeFrame();
  frame->format = encoder.sample_fmt;
  frame->sample_rate = encoder.sample_rate;
  frame->nb_samples = samples;
  CheckAv(av_channel_layout_copy(&frame->ch_layout, &encoder.ch_layout), ErrorCode::kInternal, "No memory");
  CheckAv(av_frame_get_buffer(frame.get(), 0), ErrorCode::kInternal, "No memory for sound");
  return frame;
}

bool AudioResampler::Prepare(const AVFrame& frame) {
  if (context_ && IsAlike(frame)) return true;
  const bool is_open = Open(frame, ResamplerLayout(frame.ch_layout)) ||
                       Open(frame, UsualLayout(frame.ch_layout.nb_channels));  // the names may make no sense together
  if (!is_open) return false;
  taken_ = MakeFrame();
  taken_->format = frame.format;
  taken_->sample_rate = frame.sample_rate;
  CheckAv(av_channel_layout_copy(&taken_->ch_layout, &frame.ch_layout), ErrorCode::kInternal, "No memory");
  return true;
}

/// Whether the resampler, which is open, takes the frame. As many channels may be arranged in another way.
bool AudioResampler::IsAlike(const AVFrame& frame) const {
  return frame.format == taken_->format && frame.sample_rate == taken_->sample_rate &&
         av_channel_layout_compare(&frame.ch_layout, &taken_->ch_layout) == 0;
}

bool AudioResampler::Open(const AVFrame& frame, AVChannelLayout layout) {
  SwrContext* context = nullptr;
  const int result =
      swr_alloc_set_opts2(&context, &encoder_.ch_layout, encoder_.sample_fmt, encoder_.sample_rate, &layout,
                          static_cast<AVSampleFormat>(frame.format), frame.sample_rate, 0, nullptr);
  context_.reset(context);
  const std::vector<double> matrix = MixingMatrix(layout, encoder_.ch_layout);
  const bool is_mixed = result >= 0 && (matrix.empty() || swr_set_matrix(context, matrix.data(), layout.nb_channels) >= 0);
  if (is_mixed && swr_init(context) >= 0) return true;
  context_.reset();
  return false;
}

UniqueFrame AudioResampler::Take(const AVFrame* frame) {
  const int max_samples = swr_get_out_samples(context_.get(), frame == nullptr ? 0 : frame->nb_samples);
  if (max_samples <= 0) return nullptr;
  UniqueFrame out = MakeSoundFrame(encoder_, max_samples);
  const int count =
      swr_convert(context_.get(), out->extended_data, max_samples,
                  frame == nullptr ? nullptr : const_cast<const std::uint8_t**>(frame->extended_data),
                  frame == nullptr ? 0 : frame->nb_samples);
  if (count <= 0) return nullptr;
  out->nb_samples = count;
  return out;
}

}  // namespace reelmend::media
