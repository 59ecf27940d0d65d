-- A custom host is served once its owner has proved it. Until then, it is in "claimedHost", so processes of the previous
-- version, which serve every "gatewayHost", don't serve it either.
ALTER TABLE "Project" ADD COLUMN "claimedHost" TEXT;

CREATE TABLE "HostClaim" (
    "projectId" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "claimedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),
    "verifiedAt" TIMESTAMPTZ(3),
    "lastCheckedAt" TIMESTAMPTZ(3),
    "lastProvedAt" TIMESTAMPTZ(3),
    "nextCheckAt" TIMESTAMPTZ(3),
    "failingSince" TIMESTAMPTZ(3),
    "problem" TEXT,

    CONSTRAINT "HostClaim_pkey" PRIMARY KEY ("projectId","host")
);
CREATE INDEX "HostClaim_nextCheckAt_idx" ON "HostClaim"("nextCheckAt");
ALTER TABLE "HostClaim" ADD CONSTRAINT "HostClaim_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Hosts that work today count as proved. Their first check comes a day later or more, when all gateways respond to it.
INSERT INTO "HostClaim" ("projectId", "host", "token", "verifiedAt", "lastProvedAt", "nextCheckAt")
SELECT "id", "gatewayHost", replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''),
  statement_timestamp(), statement_timestamp(), statement_timestamp() + interval '1 day' * (1 + random())
FROM "Project" WHERE "gatewayHost" IS NOT NULL;
