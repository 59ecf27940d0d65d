# The exact version of Node, for amd64 and arm64. To get exactly the same image every time, pass it with its digest; see
# docs/deployment.md.
ARG NODE_IMAGE=node:24.21.0-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY prisma.config.ts codegen.ts vite.config.ts rolldown.config.ts tsconfig.json ./
COPY prisma prisma
COPY scripts/rotate-secrets.ts scripts/ascii-bundle.ts scripts/bundled-packages.ts scripts/
COPY src src
RUN npx prisma generate && npx graphql-codegen --config codegen.ts && npx vite build && npx rolldown --config rolldown.config.ts
# The documentation, and the files that it links to.
COPY README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE schema.graphql compose.yaml ./
COPY docs docs
COPY bench/README.md bench/
COPY packages/sdk/README.md packages/sdk/
COPY deploy deploy
COPY test test
RUN npx vitepress build docs

FROM ${NODE_IMAGE}
ENV NODE_ENV=production
WORKDIR /app
COPY prisma/migrations prisma/migrations
COPY --from=build /app/dist dist
# The account `node`, as a number, so that Kubernetes can tell that it isn't root.
USER 1000:1000
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Needs DATABASE_URL, AUTH_ISSUERS, SECRET_KEYS, NETWORK, and FACILITATOR_URL; see docs/deployment.md.
CMD ["node", "dist/server/main.mjs"]
