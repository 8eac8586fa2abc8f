#include "media/channel_layouts.h"

#include <array>
#include <bit>
#include <cstdint>

namespace reelmend::media {
namespace {

constexpr int kMaxChannels = 8;

constexpr std::array<std::uint64_t, 7> kNumbered = {
    AV_CH_LAYOUT_MONO,         AV_CH_LAYOUT_STEREO,       AV_CH_LAYOUT_SURROUND, AV_CH_LAYOUT_4POINT0,
    AV_CH_LAYOUT_5POINT0_BACK, AV_CH_LAYOUT_5POINT1_BACK, AV_CH_LAYOUT_7POINT1};

AVChannelLayout FromMask(std::uint64_t mask) {
  AVChannelLayout layout = {};
  av_channel_layout_from_mask(&layout, mask);
  return layout;
}

std::uint64_t ChannelsOf(const AVChannelLayout& layout) { return av_channel_layout_subset(&layout, ~std::uint64_t{0}); }

/// Whether each channel has another name.
bool HasNames(const AVChannelLayout& layout) {
  const bool is_named = layout.order == AV_CHANNEL_ORDER_NATIVE || layout.order == AV_CHANNEL_ORDER_CUSTOM;
  return is_named && std::popcount(ChannelsOf(layout)) == layout.nb_channels;
}

/// A single pair of surrounds counts as the rear pair.
std::uint64_t WithRearPair(std::uint64_t channels) {
  constexpr std::uint64_t kSides = AV_CH_SIDE_LEFT | AV_CH_SIDE_RIGHT;
  constexpr std::uint64_t kBacks = AV_CH_BACK_LEFT | AV_CH_BACK_RIGHT;
  const bool has_sides_only = (channels & kSides) == kSides && (channels & kBacks) == 0;
  return has_sides_only ? (channels & ~kSides) | kBacks : channels;
}

}  // namespace

AVChannelLayout UsualLayout(int channels) {
  if (channels == 3) return FromMask(AV_CH_LAYOUT_SURROUND);  // libav's choice has a low-frequency channel
  AVChannelLayout layout = {};
  av_channel_layout_default(&layout, channels);
  return layout;
}

AVChannelLayout ResamplerLayout(const AVChannelLayout& layout) {
  return layout.nb_channels > 2 && HasNames(layout) ? layout : UsualLayout(layout.nb_channels);
}

AVChannelLayout AacLayout(const AVChannelLayout& layout) {
  if (layout.nb_channels > kMaxChannels) return FromMask(AV_CH_LAYOUT_STEREO);
  const AVChannelLayout named = ResamplerLayout(layout);
  const std::uint64_t channels = WithRearPair(ChannelsOf(named));
  for (const std::uint64_t numbered : kNumbered) {
    if ((channels & ~numbered) == 0) return FromMask(numbered);
  }
  return FromMask(named.nb_channels <= 6 ? AV_CH_LAYOUT_5POINT1_BACK : AV_CH_LAYOUT_7POINT1);
}

}  // namespace reelmend::media
