// Writes decoded frames as JPEG files.
#pragma once

#include <cstdint>
#include <string>

#include "media/av_handles.h"
#include "reelmend/enhance.h"

namespace reelmend::media {

/// The size of a frame in a square box: aspect ratio kept, never enlarged, at least one pixel.
Size FitBox(Size frame, int box);

/// Writes `frame` at `size` as a JPEG file (JFIF: BT.601, full range) and returns its size in bytes. Reduces by area.
/// Throws Error{kIo} when the file cannot be written.
std::int64_t WriteJpeg(const AVFrame& frame, Size size, const std::string& path);

}  // namespace reelmend::media
