// libavfilter, loaded when a video is deinterlaced (Note [libavfilter on demand]).
#pragma once

#include <memory>

extern "C" {
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
}

namespace reelmend::media {

// Note [libavfilter on demand]
// libavfilter depends on 32 libraries that the other libav libraries do not need (Debian 12). Loading them takes each media child 30 ms
// and 3.5 MB, and only interlaced videos need them. So the engine is not linked with libavfilter: it opens the library of
// the version whose headers it was compiled with, when it creates the first filter.

/// The functions of libavfilter that the engine calls.
struct AvfilterFunctions {
  decltype(&::avfilter_get_by_name) get_by_name;
  decltype(&::avfilter_graph_alloc) graph_alloc;
  decltype(&::avfilter_graph_config) graph_config;
  decltype(&::avfilter_graph_create_filter) graph_create_filter;
  decltype(&::avfilter_graph_free) graph_free;
  decltype(&::avfilter_link) link;
  decltype(&::av_buffersrc_add_frame) buffersrc_add_frame;
  decltype(&::av_buffersink_get_frame) buffersink_get_frame;
  decltype(&::av_buffersink_get_time_base) buffersink_get_time_base;
};

/// Opens the library at the first call. Throws Error(kUnavailable) if it is not installed.
const AvfilterFunctions& Avfilter();

struct FreeFilterGraph {
  void operator()(AVFilterGraph* graph) const noexcept { Avfilter().graph_free(&graph); }
};
using UniqueFilterGraph = std::unique_ptr<AVFilterGraph, FreeFilterGraph>;

}  // namespace reelmend::media
