# Two stages: the first builds the wheel and an environment of pinned, hashed packages; the second only carries it.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements.lock requirements-dev.lock ./
RUN python -m venv /build && /build/bin/pip install --no-cache-dir --require-hashes -r requirements-dev.lock \
    && python -m venv /opt/intentc && /opt/intentc/bin/pip install --no-cache-dir --require-hashes -r requirements.lock
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY intentc intentc
COPY reactions reactions
COPY config config
COPY sample sample
# `--build-arg SOURCE_COMMIT=$(git rev-parse HEAD)` makes `intentc --version` name the commit.
ARG SOURCE_COMMIT=
RUN SOURCE_COMMIT=$SOURCE_COMMIT /build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/intentc/bin/pip install --no-cache-dir --no-deps /dist/*.whl

FROM python:3.11-slim
COPY --from=build /opt/intentc /opt/intentc
ENV PATH=/opt/intentc/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin intentc
USER 10001:10001
# The configuration is mounted; addresses and secrets can come from INTENTC_ETCD__ENDPOINTS, *_FILE and the like.
ENV INTENTC_CONFIG_FILE=/etc/intentc/contrail.yml
EXPOSE 8877
HEALTHCHECK CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8877/healthz', timeout=3)"]
ENTRYPOINT ["intentc"]
CMD ["run"]
