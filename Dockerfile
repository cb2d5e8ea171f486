# One image for the API and the workers; the command selects which one runs. The stores run in other containers.

FROM node:24-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Without development tools, the embedded database and install scripts; the image needs none of them.
RUN npm ci --omit=dev --omit=optional --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data MALLOC_ARENA_MAX=1
WORKDIR /app
# Holds mails as files if SMTP_URL is not set.
RUN install --directory --owner=node --group=node --mode=0700 /data
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY src src
COPY workers workers
COPY deploy/health.ts deploy/health.ts
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s CMD ["node", "deploy/health.ts", "http://127.0.0.1:8080/readyz"]
CMD ["node", "--max-semi-space-size=4", "--heap-growing-percent=10", "src/api.ts"]
