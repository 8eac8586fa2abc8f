#include "media/adts.h"

#include <algorithm>
#include <array>

#include "media/av_error.h"

namespace reelmend::media {
namespace {

constexpr int kHeaderBytes = 7;

}  // namespace

int AacFormat::sample_rate() const {
  constexpr std::array kRates = {96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000, 7350};
  const std::size_t index = bits >> 7 & 15;
  return index < kRates.size() ? kRates[index] : 0;
}

int AacFormat::channels() const {
  constexpr std::array kChannels = {0, 1, 2, 3, 4, 5, 6, 8};
  const std::size_t configuration = bits >> 3 & 15;
  return configuration < kChannels.size() ? kChannels[configuration] : 0;
}

std::optional<AacFormat> ReadAdtsFormat(const AVPacket& packet) {
  const std::uint8_t* header = packet.data;
  if (packet.size < kHeaderBytes || header[0] != 0xFF || (header[1] & 0xF6) != 0xF0) return std::nullopt;
  const int profile = (header[2] >> 6) + 1;
  const int rate = header[2] >> 2 & 15;
  const int channels = (header[2] & 1) << 2 | header[3] >> 6;
  return AacFormat{static_cast<std::uint16_t>(profile << 11 | rate << 7 | channels << 3)};
}

std::optional<AacFormat> ReadConfigFormat(const std::uint8_t* config, int size) {
  if (size < 2) return std::nullopt;
  return AacFormat{static_cast<std::uint16_t>((config[0] << 8 | config[1]) & 0xFFF8)};
}

UniquePacket WithAdtsHeader(const AVPacket& frame, AacFormat format) {
  UniquePacket packet = MakePacket();
  const int size = kHeaderBytes + frame.size;
  CheckAv(av_new_packet(packet.get(), size), ErrorCode::kInternal, "No memory for sound");
  CheckAv(av_packet_copy_props(packet.get(), &frame), ErrorCode::kInternal, "No memory for sound");
  const int profile = (format.bits >> 11) - 1;
  const int rate = format.bits >> 7 & 15;
  const int channels = format.bits >> 3 & 7;
  const int header[kHeaderBytes] = {0xFF, 0xF1, profile << 6 | rate << 2 | channels >> 2, (channels & 3) << 6 | size >> 11,
                                    size >> 3 & 0xFF, (size & 7) << 5 | 0x1F, 0xFC};  // the bit reservoir is not stated
  std::ranges::copy(header, packet->data);
  std::copy_n(frame.data, frame.size, packet->data + kHeaderBytes);
  return packet;
}

}  // namespace reelmend::media
