# The trainer: torch, transformers, peft and grpo, without root, no compiler, no installer in its environment.
# The base brings CUDA's libraries and may be any Debian or Ubuntu with Python 3.11 or newer to be had. Torch comes
# from the package index as built for CUDA, or from wheels of your own, a build for CPUs for instance:
#   docker buildx build -f docker/trainer.Dockerfile --build-context wheels=FOLDER --build-arg BASE_IMAGE=... .
# A release build pins the base by digest.
ARG BASE_IMAGE=nvidia/cuda:12.8.1-base-ubuntu24.04

FROM scratch AS wheels

FROM ${BASE_IMAGE} AS base
RUN command -v python3 >/dev/null && python3 -c 'import ensurepip, venv' \
    || { apt-get update \
        && apt-get install -y --no-install-recommends python3 python3-venv ca-certificates \
        && rm -rf /var/lib/apt/lists/*; }

FROM base AS build
WORKDIR /src
# Two environments: one to build with, and one that leaves this stage.
RUN python3 -m venv /opt/tools && python3 -m venv --without-pip /opt/venv
ENV PATH=/opt/tools/bin:${PATH}
# Torch first and alone: the largest layer, and the one that changes least. Of several builds of the version, pip
# takes the one with a local label, which is the one of your own.
ARG TORCH=2.13.0
RUN --mount=type=bind,from=wheels,target=/wheels \
    pip --python /opt/venv/bin/python install --no-cache-dir --find-links /wheels "torch==${TORCH}"
COPY requirements/trainer.lock requirements/build.lock requirements/
RUN pip --python /opt/venv/bin/python install --no-cache-dir -r requirements/trainer.lock \
    && pip install --no-cache-dir -r requirements/build.lock
# Of the service, the client alone.
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY verifier_service verifier_service
COPY trainer trainer
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /built . ./trainer \
    && pip --python /opt/venv/bin/python install --no-cache-dir --no-deps /built/*.whl

FROM base
RUN groupadd --gid 10001 trainer \
    && useradd --uid 10001 --gid trainer --no-create-home --home-dir /nonexistent \
        --shell /usr/sbin/nologin trainer \
    && install --directory --owner trainer --group trainer /runs /models
COPY --from=build /opt/venv /opt/venv
COPY LICENSE NOTICE /usr/share/doc/grpo-trainer/
# Checkpoints and metrics go to /runs, what comes from a hub to /models: volumes of yours.
ENV PATH=/opt/venv/bin:${PATH} \
    PYTHONUNBUFFERED=1 \
    HF_HOME=/models \
    TORCHINDUCTOR_CACHE_DIR=/tmp/inductor \
    TRITON_CACHE_DIR=/tmp/triton \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 10001:10001
WORKDIR /runs
CMD ["grpo", "--help"]
