#include "media/captions.h"

#include "media/av_error.h"

namespace reelmend::media {

UniqueBuffer TakeCaptions(const AVFrame& frame) {
  const AVFrameSideData* captions = av_frame_get_side_data(&frame, AV_FRAME_DATA_A53_CC);
  return captions == nullptr ? nullptr : UniqueBuffer(CheckAlloc(av_buffer_ref(captions->buf)));
}

void SetCaptions(AVFrame& frame, UniqueBuffer captions) {
  if (!captions) return;
  CheckAlloc(av_frame_new_side_data_from_buf(&frame, AV_FRAME_DATA_A53_CC, captions.get()));
  captions.release();  // the frame owns it
}

}  // namespace reelmend::media
