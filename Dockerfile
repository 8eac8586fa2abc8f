# API and worker for machines without a GPU; Dockerfile.gpu is for machines with one. The scripts of `npm start` do the
# set-up. npm run test:long builds it and runs it with Docker Compose (test/deploy/docker.test.ts).
# To pin the base image, pass its digest: --build-arg BASE=debian:13-slim@sha256:…
ARG BASE=debian:13-slim

FROM ${BASE} AS build
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates nodejs npm python3-pip \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/reelmend
COPY . .
RUN scripts/bootstrap && scripts/package /opt/package

# Contents: /opt/reelmend (scripts, TypeScript sources, the addon with the engine, OpenVINO's CPU libraries, shipped
# networks, console, documents, migrations, production packages with Node 24 and PostgreSQL), FFmpeg's libraries and bubblewrap.
FROM ${BASE}
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
ENV REELMEND_DEVICE=cpu REELMEND_DATA_DIR=/var/lib/reelmend REELMEND_RESTART=1 \
    HOST=0.0.0.0 PORT=8080 REELMEND_METRICS_HOST=0.0.0.0 REELMEND_METRICS_PORT=9464 REELMEND_DEMO=0
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates util-linux \
    libavcodec61 libavfilter10 libavformat61 libhwy1t64 libswresample5 libswscale8 \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --create-home --home-dir /var/lib/reelmend reelmend
COPY --from=build /opt/package /opt/reelmend
USER 10001
WORKDIR /opt/reelmend
VOLUME ["/var/lib/reelmend"]
EXPOSE 8080 9464
# A worker has no API, so `health` checks its metrics port.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["scripts/reelmend", "health"]
ENTRYPOINT ["scripts/reelmend"]
CMD ["start"]
