# The worker that trains on CPUs: the agent, the runner, the C++ kernels, ready compiled, and what jobs
# need in addition: a compiler for equations, custom ops, programs and the emulator, and bubblewrap.
#   docker build -f docker/worker-cpu.Dockerfile -t ipulse-worker-cpu .
# BASE may be any image of Debian 12, for instance a mirror's, or one named by its digest:
#   --build-arg BASE=debian:12-slim@sha256:DIGEST
ARG BASE=debian:12-slim

FROM ${BASE} AS python
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        bubblewrap g++ mount python3 util-linux \
    && rm -rf /var/lib/apt/lists/*
ENV IPULSE_CACHE=/var/lib/ipulse/cache

# The kernels choose among instruction sets when they start, so that what this stage builds runs on
# whatever CPU the worker gets. They are built where jobs look for them: the libraries of the emulator
# name their place. The entry point puts them there.
FROM python AS packages
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3-venv
COPY requirements/bootstrap.txt requirements/worker-cpu.txt /build/
RUN python3 -m venv /build/bootstrap \
    && /build/bootstrap/bin/python -m pip install --no-cache-dir --require-hashes -r /build/bootstrap.txt
RUN python3 -m venv --without-pip /opt/ipulse \
    && /build/bootstrap/bin/uv pip install --python /opt/ipulse/bin/python --system-certs --no-cache \
        --compile-bytecode --no-deps --require-hashes -r /build/worker-cpu.txt
COPY core/ipulse_core /app/ipulse_core
COPY emulator/poplar_emulator /app/poplar_emulator
COPY ops/ipulse_ops /app/ipulse_ops
RUN cd /app && PYTHONDONTWRITEBYTECODE=1 TF_CPP_MIN_LOG_LEVEL=2 \
        /opt/ipulse/bin/python -m ipulse_ops.build_cache.prebuild \
    && rm -f "$IPULSE_CACHE"/*.lock && chmod -R a+rX "$IPULSE_CACHE"
COPY ipulse /app/ipulse
COPY ipu-tensorflow-emulator/ipu_tensorflow_emulator /app/ipu_tensorflow_emulator
COPY worker/ipulse_worker /app/ipulse_worker
# Processes that read files of users or run their code start Python with -I, which finds packages by
# its own folders alone.
RUN python3 -m compileall -q /app \
    && for packages in /opt/ipulse/lib/python3.*/site-packages; do echo /app >"$packages/ipulse.pth"; done
# The version that the image says: docker build --build-arg IPULSE_COMMIT="$(git rev-parse HEAD)".
ARG IPULSE_COMMIT=
RUN cd /app && python3 -m ipulse_core.version

FROM python
RUN useradd --system --uid 10001 --home-dir /var/lib/ipulse --shell /usr/sbin/nologin ipulse \
    && install -d -o ipulse -g ipulse -m 0700 /var/lib/ipulse
COPY --from=packages /opt/ipulse /opt/ipulse
COPY --from=packages /var/lib/ipulse/cache /opt/kernels
COPY --from=packages /app /app
COPY docker/entrypoint docker/worker-health /usr/local/bin/
ENV PATH=/opt/ipulse/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    IPULSE_WORK_DIR=/var/lib/ipulse/work \
    IPULSE_AGENT_KEY_FILE=/run/secrets/agent-key
WORKDIR /app
USER ipulse
VOLUME /var/lib/ipulse
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 \
    CMD ["entrypoint", "worker-health"]
ENTRYPOINT ["entrypoint"]
CMD ["python", "-m", "ipulse_worker.agent"]
