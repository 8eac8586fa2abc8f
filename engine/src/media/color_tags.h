// What the tags of a frame say about its colours, and what is assumed where they say nothing.
#pragma once

#include "media/av_handles.h"
#include "pixel/image.h"

namespace framelift::media {

/// Colour of the source in the terms of the pixel stages, and the tags that the output carries.
struct SourceColor {
  pixel::ColorSpec spec;                             ///< of the decoded samples
  pixel::ColorSpec output_spec;                      ///< of the encoded samples
  AVColorPrimaries primaries = AVCOL_PRI_BT709;      ///< output tag
  AVColorTransferCharacteristic transfer = AVCOL_TRC_BT709;  ///< output tag
  AVColorSpace matrix = AVCOL_SPC_BT709;             ///< output tag
  bool operator==(const SourceColor&) const = default;
};

/// Note [Colour of the output]
/// SDR: the samples become BT.709 limited range, chroma left-sited. Primaries and transfer are not converted,
/// their tags are carried over from the source (BT.709 where it has none).
/// HDR (PQ or HLG): there is no tone mapping yet. The samples stay in the BT.2020 matrix, reduced to 8 bits,
/// and the PQ/HLG and BT.2020 tags are carried over, so that a player shows the right brightness and colours;
/// what is lost is smoothness of gradients and the mastering metadata. Converting the matrix or dropping the
/// tags would give wrong colours on every screen instead.
///
/// Untagged Y′CbCr is taken as BT.709 from 1280 wide or 577 high on (either way up) and as BT.601 below; JPEG
/// frames are BT.601 full range by their own standard. RGB formats are described as what ToPlanarYuv makes.
SourceColor DescribeColor(const AVFrame& frame, AVCodecID codec);

}  // namespace framelift::media
