// Colour of a frame from its tags, with defaults for missing ones.
#pragma once

#include <optional>

#include "media/av_handles.h"
#include "pixel/image.h"
#include "pixel/tone_map.h"

namespace reelmend::media {

/// Colour of the source in the terms of the pixel stages, and the tags that the output carries.
struct SourceColor {
  pixel::ColorSpec spec;                             ///< of the decoded samples
  pixel::ColorSpec output_spec;                      ///< of the encoded samples
  AVColorPrimaries primaries = AVCOL_PRI_BT709;      ///< output tag
  AVColorTransferCharacteristic transfer = AVCOL_TRC_BT709;  ///< output tag
  AVColorSpace matrix = AVCOL_SPC_BT709;             ///< output tag
  std::optional<pixel::HdrTransfer> hdr;             ///< set for sources that need tone mapping or a conversion of primaries
  pixel::Primaries gamut = pixel::Primaries::kBt2020;  ///< of such a source
  bool operator==(const SourceColor&) const = default;
};

/// Note [Colour of the output]
/// - SDR becomes BT.709 limited range, chroma left-sited. Primaries and transfer close to BT.709 (both kinds of
///   BT.601) are not converted; their tags are copied from the source (BT.709 if it has none).
/// - Wide primaries (BT.2020, P3 with D65 white) are converted to BT.709 (Note [Tone mapping] in pixel/tone_map.h),
///   because many players show 8-bit H.264 as BT.709 whatever its tags say.
/// - HDR (PQ or HLG) is tone-mapped to BT.709 and tagged so, for the same reason.
///
/// Untagged Y′CbCr is taken as BT.709 from 1280 wide or 577 high on (in either orientation) and as BT.601 below. JPEG
/// frames are BT.601 full range, as their standard says. Untagged grey is full range, as cameras and swscale write it (video
/// codecs with a standard tag theirs). Untagged PQ and HLG are BT.2020. RGB formats are described as the
/// planar Y′CbCr that they are converted to. Matrices that are tagged and not converted (ICtCp, YCgCo, derived from other
/// primaries than BT.709 and BT.2020) are refused: Error{kUnreadableVideo}.
SourceColor DescribeColor(const AVFrame& frame, AVCodecID codec);

/// Whether black is level 0, by the format, the tag or, for untagged grey, Note [Colour of the output].
bool IsFullRange(const AVFrame& frame);

/// Throws Error{kUnreadableVideo} for a source whose colours cannot be converted: what DescribeColor refuses, and Dolby
/// Vision whose base layer is no usual video (profile 5), which carries no tag of its matrix.
void CheckConvertible(const AVStream& stream, const AVFrame& frame);

/// Peak of an HDR10 source in nits, from the side data of its first frame or its stream: the smaller of MaxCLL and
/// the mastering display's peak, because nothing brighter occurs. kDefaultPeakNits if neither is plausible (below SDR
/// white or above 10,000).
double FindPeakNits(const AVStream& stream, const AVFrame& frame);

}  // namespace reelmend::media
