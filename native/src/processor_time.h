#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value LimitProcessorTime(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
