# The page, then the environment, then an image that holds only what runs.

FROM node:24-slim AS page
WORKDIR /build/ui
COPY ui/package.json ui/package-lock.json ui/.npmrc ./
RUN npm ci
COPY ui ./
COPY src/ringi/base/texts /build/src/ringi/base/texts
COPY src/ringi/base/keys.json /build/src/ringi/base/keys.json
RUN npm run build

FROM python:3.13-slim-trixie AS build
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends binutils && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY requirements.lock pyproject.toml ./
# The uv that the lock names, checked by its hash.
RUN sed -n '/^uv==/,/[^\\]$/p' requirements.lock > uv.txt \
 && pip install --no-cache-dir --require-hashes -r uv.txt
ENV UV_NO_CACHE=1 UV_LINK_MODE=copy
# The packages before the sources: a change of the code leaves this layer as it is. The largest libraries come with
# debug symbols, which are half of what is installed.
RUN uv venv /opt/ringi \
 && uv pip install --python /opt/ringi --constraints requirements.lock --requirements pyproject.toml \
    --extra langgraph --extra mcp --extra oidc --extra postgres --extra redis --extra server --extra terminal \
 && find /opt/ringi -name '*.so' -not -path '*.libs/*' -exec strip --strip-unneeded {} +
COPY hatch_build.py README.md LICENSE ./
COPY src src
COPY --from=page /build/src/ringi/server/static src/ringi/server/static
# Bytecode of what the server imports: on a read-only root each start would compile it again.
RUN uv build --wheel --build-constraints requirements.lock --out-dir dist \
 && uv pip install --python /opt/ringi --no-deps dist/*.whl \
 && /opt/ringi/bin/python -c "import ringi.server.serve, ringi.cli.commands.serve, ringi.backends.postgres.store"

FROM python:3.13-slim-trixie
LABEL org.opencontainers.image.title="Ringi" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/ringi /opt/ringi
COPY --chmod=0755 deploy/entrypoint.py /usr/local/bin/ringi
RUN install -d -o 10001 -g 10001 -m 0750 /data /credentials && install -d /agents
ENV RINGI_HOME=/data PYTHONUNBUFFERED=1
USER 10001:10001
WORKDIR /agents
VOLUME ["/data"]
EXPOSE 8123
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["python3", "-I", "-c", "import http.client as h; c = h.HTTPConnection('127.0.0.1', 8123, timeout=3); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
ENTRYPOINT ["ringi"]
CMD ["serve", "--host", "0.0.0.0"]
