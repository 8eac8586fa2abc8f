// What the entry points of the engine may throw.
#pragma once

#include <exception>
#include <new>
#include <string>

#include "reelmend/error.h"

namespace reelmend::run {

/// Runs `work` and returns its result. Only Error and std::bad_alloc leave it; any other exception becomes Error{kInternal}.
template <typename Work>
auto WithEngineErrors(const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInternal, std::string("The engine failed: ") + error.what());
  }
}

}  // namespace reelmend::run
