// Converts decoded frames of any pixel format to the planar pictures of the stages.
#pragma once

#include <optional>

#include "media/av_handles.h"
#include "media/color_tags.h"
#include "pixel/stages.h"

namespace reelmend::media {

/// Layout of a format that pixel::Import reads directly. Nothing for RGB, palettes, packed Y′CbCr, big-endian samples and
/// other rare formats, which swscale converts to planar Y′CbCr first.
std::optional<pixel::PackedLayout> NativeLayout(AVPixelFormat format);

/// Layout of frames of that format when they reach the stages: their own, or that of swscale's output.
pixel::PackedLayout ImportedLayout(AVPixelFormat format);

/// Imports frames of one size, format and colour.
class FrameImporter {
 public:
  /// Throws Error{kUnreadableVideo} for a format that cannot be converted.
  FrameImporter(const AVFrame& like, AVCodecID codec);

  /// Whether `frame` can go through this importer; if not, make another one.
  bool Fits(const AVFrame& frame, AVCodecID codec) const;

  int width() const { return width_; }
  int height() const { return height_; }
  pixel::Subsampling subsampling() const { return layout_.subsampling; }
  const SourceColor& color() const { return color_; }
  /// Layout of the planes that Planes() returns.
  const pixel::PackedLayout& layout() const { return layout_; }

  /// The frame's own planes, or swscale's output; valid until the next call, or while `frame` lives.
  pixel::RawPlanes Planes(const AVFrame& frame);

  /// Converts a frame. `out` is width × height with subsampling() and color().spec.
  void Run(const AVFrame& frame, pixel::Image& out, pixel::ThreadPool& pool);

 private:
  void MakeScaler();

  int width_;
  int height_;
  AVPixelFormat format_;
  SourceColor color_;
  pixel::PackedLayout layout_;
  UniqueScaler unpacker_;    ///< only for RGB of 15 and 16 bits
  UniqueFrame unpacked_;
  UniqueScaler scaler_;      ///< only for formats without a native layout
  UniqueFrame intermediate_;
};

}  // namespace reelmend::media
