# syntax=docker/dockerfile:1

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY prisma.config.ts codegen.ts vite.config.ts rolldown.config.ts tsconfig.json ./
COPY prisma prisma
COPY scripts/rotate-secrets.ts scripts/
COPY src src
RUN npx prisma generate && npx graphql-codegen --config codegen.ts && npx vite build && npx rolldown --config rolldown.config.ts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY prisma/migrations prisma/migrations
COPY --from=build /app/dist dist
USER node
EXPOSE 4000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 4000}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Needs DATABASE_URL, AUTH_ISSUERS, SECRET_KEYS, NETWORK, and FACILITATOR_URL; see docs/deployment.md.
CMD ["node", "dist/server/main.mjs"]
