// What the tags of a frame say about its colours, and what is assumed where they say nothing.
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
  std::optional<pixel::HdrTransfer> hdr;             ///< set for what is to be tone-mapped, or only its primaries converted
  pixel::Primaries gamut = pixel::Primaries::kBt2020;  ///< of such a source
  bool operator==(const SourceColor&) const = default;
};

/// Note [Colour of the output]
/// SDR: the samples become BT.709 limited range, chroma left-sited. Primaries and transfer that are near those of BT.709
/// (BT.601's of both kinds) are not converted, their tags are carried over from the source (BT.709 where it has none).
/// Wide primaries (BT.2020, P3 with D65 white) are converted to BT.709 (Note [Tone mapping] in pixel/tone_map.h): many
/// players show 8-bit H.264 as BT.709 whatever its tags say, which would leave such a film pale.
/// HDR (PQ or HLG): tone-mapped to BT.709 (Note [Tone mapping] in pixel/tone_map.h) and tagged as that, since 8-bit
/// H.264 is played as SDR by most players whatever its tags say.
///
/// Untagged Y′CbCr is taken as BT.709 from 1280 wide or 577 high on (either way up) and as BT.601 below; JPEG
/// frames are BT.601 full range by their own standard. RGB formats are described as what ToPlanarYuv makes.
SourceColor DescribeColor(const AVFrame& frame, AVCodecID codec);

/// Brightest light of an HDR10 source in nits, from the side data of its first frame or else of its stream: the
/// smaller of MaxCLL and the mastering display's peak, since what is brighter than either does not occur.
/// kDefaultPeakNits where neither is believable (below SDR white or above 10,000).
double FindPeakNits(const AVStream& stream, const AVFrame& frame);

}  // namespace reelmend::media
