# One image for the API, the workers and the migration; the command selects what runs. The stores run in other containers.
# Its processes write to /data only, so run it with a read-only root filesystem: docs/deployment.md.

# An exact version, which may end with a digest: docs/deployment.md.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-slim
FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without development tools, the embedded database and install scripts; the image needs none of them.
RUN npm ci --omit=dev --omit=optional --ignore-scripts
# The bill of materials of what is installed, in the format of CycloneDX. `npm sbom --omit` would leave out packages that
# development tools, or options of other packages, need too.
RUN npm pkg delete devDependencies && npm sbom --sbom-type=application --sbom-format=cyclonedx >sbom.cdx.json

FROM ${NODE_IMAGE}
ARG NODE_IMAGE
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Muster" \
  org.opencontainers.image.description="An identity service whose main job is moving users in" \
  org.opencontainers.image.version="1.0.0" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.licenses="Apache-2.0" \
  org.opencontainers.image.base.name="$NODE_IMAGE"
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data MALLOC_ARENA_MAX=1
WORKDIR /app
# Holds mails as files if SMTP_URL is not set.
RUN install --directory --owner=node --group=node --mode=0700 /data
COPY --from=dependencies /app/node_modules node_modules
COPY --from=dependencies /app/sbom.cdx.json sbom.cdx.json
COPY package.json LICENSE ./
COPY src src
COPY workers workers
# The console shows these guides.
COPY docs/sources docs/sources
COPY deploy/health.ts deploy/health.ts
# By number, so that Kubernetes can see that it is not root.
USER 1000:1000
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "deploy/health.ts", "http://127.0.0.1:8080/readyz"]
CMD ["node", "--max-semi-space-size=4", "--heap-growing-percent=10", "src/start/api.ts"]
