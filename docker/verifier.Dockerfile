# The judge as a service: slim, without root, no compiler, no installer in its environment.
# A release build pins the base by digest: --build-arg BASE_IMAGE=python:3.11-slim-bookworm@sha256:...
ARG BASE_IMAGE=python:3.11-slim-bookworm

FROM ${BASE_IMAGE} AS build
WORKDIR /src
RUN python -m venv --without-pip /opt/venv
# Dependencies first: this layer is rebuilt only when a lock changes. Parquet files are read by the command
# line, never by the service, and pyarrow would be the largest part of the image.
COPY requirements/server.lock requirements/build.lock requirements/
RUN grep -v '^pyarrow==' requirements/server.lock >service.lock \
    && pip --python /opt/venv/bin/python install --no-cache-dir --no-deps -r service.lock \
    && pip install --no-cache-dir -r requirements/build.lock
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY verifier_service verifier_service
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && pip --python /opt/venv/bin/python install --no-cache-dir --no-deps /wheels/*.whl

FROM ${BASE_IMAGE}
RUN groupadd --gid 10001 verifier \
    && useradd --uid 10001 --gid verifier --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin verifier
COPY --from=build /opt/venv /opt/venv
COPY LICENSE NOTICE /usr/share/doc/verifier-service/
ENV PATH=/opt/venv/bin:${PATH} \
    PYTHONUNBUFFERED=1 \
    VERIFIER_HOST=0.0.0.0 \
    VERIFIER_PORT=8000
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --start-interval=1s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"VERIFIER_PORT\"]}/readyz', timeout=2)"]
STOPSIGNAL SIGTERM
CMD ["verifier", "serve"]
