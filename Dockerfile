# syntax=docker/dockerfile:1

FROM node:24-slim AS generate
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY prisma.config.ts codegen.ts vite.config.ts tsconfig.json ./
COPY prisma prisma
COPY src src
RUN npx prisma generate && npx graphql-codegen --config codegen.ts && npx vite build

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Install scripts and optional packages are left out, because the image already has Node, and the database runs
# elsewhere. Without them, the npm package `node` and the embedded PostgreSQL stay empty.
RUN npm ci --omit=dev --omit=optional --ignore-scripts && rm -rf node_modules/node node_modules/.bin/node

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY prisma/migrations prisma/migrations
COPY scripts/rotate-secrets.ts scripts/
COPY src src
COPY --from=generate /app/src/generated src/generated
COPY --from=generate /app/dist dist
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Needs DATABASE_URL, AUTH_ISSUERS, SECRET_KEYS, NETWORK, and FACILITATOR_URL; see docs/deployment.md.
CMD ["node", "src/main.ts"]
