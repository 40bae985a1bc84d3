# TreeDP for others, behind a proxy that does TLS (docs/hosting.md):
#   docker build --tag treedp . && docker run --rm --publish 127.0.0.1:8501:8501 treedp trees.example.org
FROM python:3.13-slim AS build
COPY . /src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /src

FROM python:3.13-slim
COPY --from=build /wheel /wheel
RUN pip install --no-cache-dir /wheel/treedp-*.whl && useradd --create-home treedp
USER treedp
WORKDIR /home/treedp
EXPOSE 8501
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8501/_stcore/health', timeout=5)"]
ENTRYPOINT ["treedp", "--host"]
CMD ["localhost"]
