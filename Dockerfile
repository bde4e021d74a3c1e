# The decision service in an image: headstart and what the service needs, compiled before the first user comes.
#   docker build -t headstart .
#   docker run -p 8000:8000 -v ./deploy:/etc/headstart:ro headstart serve /etc/headstart/service.toml --host 0.0.0.0
FROM python:3.12-slim-bookworm AS build
WORKDIR /build
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src ./src
RUN python -m venv /opt/headstart \
 && /opt/headstart/bin/pip install --no-cache-dir -c constraints.txt '.[serve,postgres]'

FROM python:3.12-slim-bookworm
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/headstart headstart
COPY --from=build /opt/headstart /opt/headstart
ENV PATH=/opt/headstart/bin:$PATH \
    NUMBA_CACHE_DIR=/var/lib/headstart/cache
USER 10001
WORKDIR /var/lib/headstart
RUN headstart warm
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health', timeout=2)"]
ENTRYPOINT ["headstart"]
CMD ["--help"]
