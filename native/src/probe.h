#pragma once

#include <napi.h>

namespace reelmend::native {

Napi::Value Probe(const Napi::CallbackInfo& info);

}  // namespace reelmend::native
