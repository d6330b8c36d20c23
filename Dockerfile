# Builds the bundle; nothing of this stage is in the image but what is copied below.
FROM node:24.21.0-bookworm-slim AS build
WORKDIR /work
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-audit --no-fund
COPY tsconfig.json ./
COPY tools/build.ts tools/build.ts
COPY src src
RUN npm run build

# Holds the Node binary, the libraries it links (libstdc++ and libgcc, which Debian's slim image has), and the bundle.
FROM debian:12.12-slim AS operator
LABEL org.opencontainers.image.title="endpoint-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /usr/local/bin/node /usr/local/bin/node
COPY --from=build /work/dist /app
ENV NODE_ENV=production
USER 65532:65532
WORKDIR /app
EXPOSE 8080 8081
ENTRYPOINT ["node", "/app/endpoint-operator.js"]
CMD ["run"]
