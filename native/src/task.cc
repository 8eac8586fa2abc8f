#include "task.h"

#include <exception>
#include <new>
#include <system_error>
#include <utility>

#include "results.h"

namespace reelmend::native {

Napi::Value Task::Start(Napi::Env env, const Options& options, Work work) {
  std::unique_ptr<Task> owner(new Task(env, options, std::move(work)));
  Task* task = owner.get();
  const Napi::Value promise = task->deferred_.Promise();
  // The finalizer runs on the JavaScript thread when the queue is released and drained, or when the environment is destroyed
  // during a call. In the latter case it cancels the engine's work and waits for its end.
  const auto finalize = [](Napi::Env, void*, Task* finished) {
    finished->cancelled_->store(true);
    if (finished->thread_.joinable()) finished->thread_.join();
    delete finished;
  };
  task->queue_ = Queue::New(env, "reelmend", 0, 1, task, finalize, static_cast<void*>(nullptr));
  owner.release();
  try {
    task->thread_ = std::thread([task] { task->Run(); });
  } catch (const std::system_error&) {
    task->Settle(env, {.value = {}, .code = ErrorCode::kInternal, .message = "No thread could be started."});
    task->queue_.Release();
  }
  return promise;
}

Task::Task(Napi::Env env, const Options& options, Work work)
    : work_(std::move(work)), deferred_(env), wants_progress_(options.Function("onProgress").has_value()) {
  if (wants_progress_) on_progress_ = Napi::Persistent(*options.Function("onProgress"));
  error_ = Napi::Persistent(Napi::Error::New(env, "").Value());
  ListenTo(options.Member("signal"), options.Path("signal"));
}

void Task::ListenTo(Napi::Value signal, const std::string& name) {
  if (signal.IsUndefined()) return;
  for (const char* method : {"addEventListener", "removeEventListener"}) {  // the second is called when the task settles
    const bool has_it = signal.IsObject() && signal.As<Napi::Object>().Get(method).IsFunction();
    if (!has_it) throw WrongArgument("an AbortSignal", name, signal);
  }
  const auto object = signal.As<Napi::Object>();
  const Napi::Env env = signal.Env();
  if (object.Get("aborted").ToBoolean()) cancelled_->store(true);
  // The listener holds only the flag, so that a late event cannot access a finished task.
  const auto listener =
      Napi::Function::New(env, [flag = cancelled_](const Napi::CallbackInfo&) { flag->store(true); });
  auto once = Napi::Object::New(env);
  once.Set("once", true);
  object.Get("addEventListener")
      .As<Napi::Function>()
      .Call(object, {Napi::String::New(env, "abort"), listener, once});
  signal_ = Napi::Persistent(object);
  listener_ = Napi::Persistent(listener);
}

void Task::StopListening() {
  if (listener_.IsEmpty()) return;
  const Napi::Object signal = signal_.Value();
  signal.Get("removeEventListener")
      .As<Napi::Function>()
      .Call(signal, {Napi::String::New(signal.Env(), "abort"), listener_.Value()});
}

void Task::Run() {
  auto outcome = std::make_shared<Outcome>(Attempt());
  if (Post([this, outcome](Napi::Env env) { Settle(env, *outcome); })) queue_.Release();
}

Task::Outcome Task::Attempt() noexcept {
  try {
    return {.value = work_(*this), .code = {}, .message = {}};
  } catch (const Error& error) {
    return {.value = {}, .code = error.code(), .message = error.what()};
  } catch (const std::bad_alloc&) {
    return {.value = {}, .code = ErrorCode::kInternal, .message = "The machine ran out of memory."};
  } catch (const std::exception& error) {
    return {.value = {}, .code = ErrorCode::kInternal, .message = error.what()};
  } catch (...) {
    return {.value = {}, .code = ErrorCode::kInternal, .message = "An unknown error occurred in the engine."};
  }
}

bool Task::Post(std::function<void(Napi::Env)> call) {
  auto owned = std::make_unique<std::function<void(Napi::Env)>>(std::move(call));
  const std::lock_guard lock(mutex_);
  // After a failed call the queue must not be used again, not even to release it.
  if (!queue_is_closed_ && queue_.NonBlockingCall(owned.get()) == napi_ok) {
    owned.release();
    return true;
  }
  queue_is_closed_ = true;
  return false;
}

void Task::CallJs(Napi::Env env, Napi::Function, Task*, std::function<void(Napi::Env)>* call) {
  const std::unique_ptr<std::function<void(Napi::Env)>> owned(call);
  // The environment is null while it is being destroyed. Then the call is only freed.
  if (static_cast<napi_env>(env) != nullptr) (*owned)(env);
}

void Task::Report(const Progress& progress) {
  if (!wants_progress_) return;
  {
    const std::lock_guard lock(mutex_);
    latest_ = progress;
    if (progress_is_queued_) return;
    progress_is_queued_ = true;
  }
  Post([this](Napi::Env env) { DeliverProgress(env); });
}

EnhanceCallbacks Task::Callbacks() {
  return {.on_progress = [this](const Progress& progress) { Report(progress); }, .is_cancelled = [this] { return is_cancelled(); }};
}

void Task::DeliverProgress(Napi::Env env) {
  Progress progress;
  {
    const std::lock_guard lock(mutex_);
    progress = latest_;
    progress_is_queued_ = false;
  }
  if (!script_->thrown.IsEmpty()) return;
  try {
    on_progress_.Call({ToJs(env, progress)});
  } catch (const Napi::Error& error) {
    // Set the flag first: an environment that is being stopped rejects the new reference, and Keep throws.
    cancelled_->store(true);
    script_->thrown.Keep(error.Value());
  }
}

void Task::Settle(Napi::Env env, const Outcome& outcome) {
  try {
    StopListening();
    SettleAs(env, outcome);
  } catch (const Napi::Error& error) {
    // For example, the caller's signal is an object of its own that throws. Nobody else would settle the promise.
    deferred_.Reject(error.Value());
  }
}

void Task::SettleAs(Napi::Env env, const Outcome& outcome) {
  const bool reads_failed = !script_->failure.IsEmpty();
  if (!script_->thrown.IsEmpty()) {
    deferred_.Reject(script_->thrown.Get());
  } else if (outcome.value && !reads_failed) {
    deferred_.Resolve(outcome.value(env));
  } else if (reads_failed && outcome.code != ErrorCode::kCancelled) {
    // The failed read is the cause, whichever error the engine reports for it.
    const Napi::Value error = MakeError(
        env, {.value = {}, .code = ErrorCode::kIo, .message = "The source of the video could not be read."});
    error.As<Napi::Object>().Set("cause", script_->failure.Get());
    deferred_.Reject(error);
  } else {
    const Napi::Value error = MakeError(env, outcome);
    if (outcome.code == ErrorCode::kCancelled && !signal_.IsEmpty()) {
      error.As<Napi::Object>().Set("cause", signal_.Get("reason"));
    }
    deferred_.Reject(error);
  }
}

Napi::Value Task::MakeError(Napi::Env env, const Outcome& outcome) {
  Napi::Object error = error_.Value();
  const std::string stack = error.Get("stack").ToString();
  const auto frames = stack.find("\n    at ");
  error.Set("message", outcome.message);
  error.Set("code", ErrorCodeName(outcome.code));
  error.Set("stack", "Error: " + outcome.message + (frames == std::string::npos ? "" : stack.substr(frames)));
  return Napi::Value(env, error);
}

}  // namespace reelmend::native
