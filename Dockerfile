# The server, every command, and nothing to build with: docker build -t waypost:0.1.0 .
# EXTRAS adds optional dependencies by the names of pyproject.toml: --build-arg EXTRAS=nodecache,doh,quic

FROM debian:trixie-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 python3-venv libcap2-bin ca-certificates
RUN python3 -m venv /build \
    && python3 -m venv --copies --without-pip /opt/waypost
COPY requirements /src/requirements
RUN /build/bin/pip install --no-cache-dir --no-deps -r /src/requirements/build.txt \
    && /build/bin/pip --python /opt/waypost/bin/python3 install --no-cache-dir --no-deps -r /src/requirements/run.txt
COPY pyproject.toml README.md /src/
COPY src /src/src
ARG EXTRAS=nodecache
RUN /build/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /wheels /src \
    && /build/bin/pip --python /opt/waypost/bin/python3 install --no-cache-dir --no-deps /wheels/*.whl \
    && if [ -n "$EXTRAS" ]; then \
        /build/bin/pip --python /opt/waypost/bin/python3 install --no-cache-dir \
            --constraint /src/requirements/dev.txt "$(echo /wheels/*.whl)[$EXTRAS]"; \
    fi \
    && /opt/waypost/bin/python3 -m compileall -q /opt/waypost/lib
# A process that is not root gets NET_BIND_SERVICE from the file that it executes: Kubernetes can only allow it.
RUN setcap cap_net_bind_service=+ep /opt/waypost/bin/python3

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends python3 ca-certificates \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/waypost /opt/waypost
ENV PATH=/opt/waypost/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /
EXPOSE 53/udp 53/tcp 9153/tcp
ENTRYPOINT ["/opt/waypost/bin/waypost"]
