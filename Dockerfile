# The service in a container: docs/operations/docker.md.

FROM python:3.12-slim AS build

WORKDIR /source
COPY pyproject.toml setup.py requirements.lock README.md LICENSE ./
COPY config config
COPY brokers brokers
COPY actors actors
COPY http http
RUN python -m venv /opt/onebroker \
    && /opt/onebroker/bin/pip install --no-cache-dir --require-hashes -r requirements.lock \
    && /opt/onebroker/bin/pip install --no-cache-dir --no-deps .

FROM python:3.12-slim

RUN groupadd --gid 10001 onebroker \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /var/lib/onebroker --shell /usr/sbin/nologin onebroker \
    && install -d -m 0700 -o onebroker -g onebroker /var/lib/onebroker \
    && install -d /etc/onebroker \
    && touch /etc/onebroker/onebroker.toml
COPY --from=build /opt/onebroker /opt/onebroker

ENV PATH=/opt/onebroker/bin:$PATH \
    ONEBROKER_SERVICE_DATA_DIR=/var/lib/onebroker

USER 10001:10001
VOLUME /var/lib/onebroker
EXPOSE 8000
STOPSIGNAL SIGTERM

HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["onebroker", "alive", "--config", "/etc/onebroker/onebroker.toml"]

ENTRYPOINT ["onebroker"]
CMD ["serve", "--config", "/etc/onebroker/onebroker.toml"]
