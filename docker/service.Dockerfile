# The HTTP side: sole owner of the database and of the artifact store.
#   docker build -f docker/service.Dockerfile -t ipulse-service .
# BASE may be any image of Debian 12, for instance a mirror's, or one named by its digest:
#   --build-arg BASE=debian:12-slim@sha256:DIGEST
ARG BASE=debian:12-slim

FROM ${BASE} AS python
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/*

FROM python AS packages
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ca-certificates python3-venv
COPY requirements/bootstrap.txt requirements/service.txt /build/
RUN python3 -m venv /build/bootstrap \
    && /build/bootstrap/bin/python -m pip install --no-cache-dir --require-hashes -r /build/bootstrap.txt
RUN python3 -m venv --without-pip /opt/ipulse \
    && /build/bootstrap/bin/uv pip install --python /opt/ipulse/bin/python --system-certs --no-cache \
        --compile-bytecode --require-hashes -r /build/service.txt
COPY core/ipulse_core /app/ipulse_core
COPY ipulse /app/ipulse
COPY service/ipulse_service /app/ipulse_service
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
COPY --from=packages /app /app
COPY docker/entrypoint /usr/local/bin/entrypoint
ENV PATH=/opt/ipulse/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    IPULSE_HOME=/var/lib/ipulse \
    IPULSE_TOKEN_FILE=/run/secrets/token \
    IPULSE_AGENT_KEY_FILE=/run/secrets/agent-key
WORKDIR /app
USER ipulse
VOLUME /var/lib/ipulse
EXPOSE 8470
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8470/readyz', timeout=4)"]
ENTRYPOINT ["entrypoint"]
CMD ["python", "-m", "ipulse_service"]
