// Converts decoded sound to the format of an encoder.
#pragma once

#include "media/av_handles.h"

namespace reelmend::media {

/// A frame in the encoder's format, with memory for so many samples.
UniqueFrame MakeSoundFrame(const AVCodecContext& encoder, int samples);

/// Takes frames of any format, also of one that changes.
class AudioResampler {
 public:
  /// `encoder` lives longer.
  explicit AudioResampler(AVCodecContext& encoder) : encoder_(encoder) {}

  /// Call before Convert for each frame. Returns false if frames like this one cannot be converted. What is left of another format is lost.
  bool Prepare(const AVFrame& frame);
  /// The samples that are ready; null if there are none.
  UniqueFrame Convert(const AVFrame& frame) { return Take(&frame); }
  /// The last samples; null if there are none.
  UniqueFrame Flush() { return context_ ? Take(nullptr) : nullptr; }

 private:
  bool IsAlike(const AVFrame& frame) const;
  bool Open(const AVFrame& frame, AVChannelLayout layout);
  UniqueFrame Take(const AVFrame* frame);

  AVCodecContext& encoder_;
  UniqueResampler context_;
  UniqueFrame taken_;  ///< format of the frames that it takes; without samples
};

}  // namespace reelmend::media
