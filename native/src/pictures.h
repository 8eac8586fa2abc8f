#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value TakePictures(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
