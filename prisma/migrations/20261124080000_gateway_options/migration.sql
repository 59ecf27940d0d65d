-- What sellers can set for an endpoint and its project. Every column has a default that keeps what is stored as it is,
-- so processes of the previous version can go on writing.
CREATE TYPE "SettlementOrder" AS ENUM ('AFTER_RESPONSE', 'BEFORE_REQUEST');
CREATE TYPE "ProjectMode" AS ENUM ('LIVE', 'TEST');

ALTER TABLE "Endpoint"
  ADD COLUMN "methods" TEXT[] DEFAULT ARRAY[]::TEXT[],
  ADD COLUMN "upstreamHeaders" JSONB,
  ADD COLUMN "secretUpstreamHeaders" TEXT,
  ADD COLUMN "settlement" "SettlementOrder" NOT NULL DEFAULT 'AFTER_RESPONSE',
  ADD COLUMN "timeoutSeconds" INTEGER,
  ADD COLUMN "mimeType" TEXT,
  ADD COLUMN "inputSchema" JSONB,
  ADD COLUMN "exampleResponse" JSONB,
  ADD COLUMN "tags" TEXT[] DEFAULT ARRAY[]::TEXT[];

ALTER TABLE "Project"
  ADD COLUMN "upstreamHeaders" JSONB,
  ADD COLUMN "secretUpstreamHeaders" TEXT,
  ADD COLUMN "mode" "ProjectMode" NOT NULL DEFAULT 'LIVE',
  ADD COLUMN "networks" TEXT[] DEFAULT ARRAY[]::TEXT[],
  ADD COLUMN "description" TEXT,
  ADD COLUMN "iconUrl" TEXT,
  ADD COLUMN "slug" TEXT;

CREATE UNIQUE INDEX "Project_slug_key" ON "Project"("slug");
