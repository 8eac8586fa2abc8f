#include "media/channel_layouts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <string_view>

extern "C" {
#include <libswresample/swresample.h>
}

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

/// Left is 0 and right is 1; 2 is both.
int SideOf(AVChannel channel) {
  std::array<char, 16> name = {};
  av_channel_name(name.data(), name.size(), channel);
  const std::string_view text = name.data();
  return text.ends_with('L') ? 0 : text.ends_with('R') ? 1 : 2;
}

bool IsLowFrequency(AVChannel channel) { return channel == AV_CHAN_LOW_FREQUENCY || channel == AV_CHAN_LOW_FREQUENCY_2; }

/// The resampler's own matrix; empty if it has none.
std::vector<double> OwnMatrix(const AVChannelLayout& from, const AVChannelLayout& to) {
  constexpr double kAside = std::numbers::sqrt2 / 2;  // the resampler's defaults, which do not scale floating-point sound down
  // libav multiplies so many rows and columns by the volume, however many channels there are.
  constexpr std::ptrdiff_t kStride = kMostMixedChannels;
  std::vector<double> built(kStride * kStride);
  const int result = swr_build_matrix2(&from, &to, kAside, kAside, 0, std::numeric_limits<int>::max(), 1, built.data(), kStride,
                                       AV_MATRIX_ENCODING_NONE, nullptr);
  std::vector<double> matrix;
  for (int row = 0; result >= 0 && row < to.nb_channels; ++row) {
    const auto begin = built.begin() + row * kStride;
    matrix.insert(matrix.end(), begin, begin + from.nb_channels);
  }
  return matrix;
}

}  // namespace

bool IsUsualInFlac(const AVChannelLayout& layout) {
  constexpr std::array<std::uint64_t, 9> kUsual = {0,
                                                   AV_CH_LAYOUT_MONO,
                                                   AV_CH_LAYOUT_STEREO,
                                                   AV_CH_LAYOUT_SURROUND,
                                                   AV_CH_LAYOUT_QUAD,
                                                   AV_CH_LAYOUT_5POINT0_BACK,
                                                   AV_CH_LAYOUT_5POINT1_BACK,
                                                   AV_CH_LAYOUT_6POINT1,
                                                   AV_CH_LAYOUT_7POINT1};
  if (layout.nb_channels <= 2 || !HasNames(layout)) return true;
  if (layout.nb_channels > kMaxChannels) return false;
  const std::uint64_t usual = kUsual[static_cast<std::size_t>(layout.nb_channels)];
  return ChannelsOf(layout) == usual || WithRearPair(ChannelsOf(layout)) == usual;
}

AVChannelLayout UsualLayout(int channels) {
  if (channels > kMaxChannels) return {.order = AV_CHANNEL_ORDER_UNSPEC, .nb_channels = channels, .u = {}, .opaque = nullptr};
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

std::vector<double> MixingMatrix(const AVChannelLayout& from, const AVChannelLayout& to) {
  const auto channels = static_cast<std::size_t>(from.nb_channels);
  const auto front = static_cast<std::size_t>(std::min(to.nb_channels, 2));
  if (from.order == AV_CHANNEL_ORDER_UNSPEC) {
    // Independent sounds stay as loud together as they were.
    std::vector<double> matrix(channels * static_cast<std::size_t>(to.nb_channels));
    std::fill_n(matrix.begin(), channels * front, 1 / std::sqrt(from.nb_channels));
    return matrix;
  }
  std::vector<double> matrix = HasNames(from) ? OwnMatrix(from, to) : std::vector<double>();
  bool has_changed = false;
  for (std::size_t channel = 0; !matrix.empty() && channel < channels; ++channel) {
    const AVChannel name = av_channel_layout_channel_from_index(&from, static_cast<unsigned>(channel));
    bool is_heard = IsLowFrequency(name);
    for (std::size_t at = channel; at < matrix.size(); at += channels) is_heard = is_heard || matrix[at] != 0;
    if (is_heard) continue;
    has_changed = true;
    const int side = front == 2 ? SideOf(name) : 2;
    for (std::size_t row = 0; row < front; ++row) {
      if (side == 2 || side == static_cast<int>(row)) matrix[row * channels + channel] = side == 2 ? 0.5 : std::numbers::sqrt2 / 2;
    }
  }
  return has_changed ? matrix : std::vector<double>();
}

}  // namespace reelmend::media
