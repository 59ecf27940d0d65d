-- CreateEnum
CREATE TYPE "ReplayStatus" AS ENUM ('RUNNING', 'COMPLETED', 'CANCELLED');

-- CreateTable
CREATE TABLE "Replay" (
    "id" TEXT COLLATE "C" NOT NULL,
    "projectId" TEXT NOT NULL,
    "status" "ReplayStatus" NOT NULL DEFAULT 'RUNNING',
    "filter" JSONB NOT NULL,
    "maxPerSecond" INTEGER NOT NULL,
    "total" INTEGER NOT NULL,
    "done" INTEGER NOT NULL DEFAULT 0,
    "skipped" INTEGER NOT NULL DEFAULT 0,
    "cursor" TEXT COLLATE "C" NOT NULL DEFAULT '',
    "startedBy" TEXT NOT NULL,
    "leasedUntil" TIMESTAMPTZ(3),
    "leaseToken" INTEGER NOT NULL DEFAULT 0,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finishedAt" TIMESTAMPTZ(3),

    CONSTRAINT "Replay_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "Replay_projectId_id_idx" ON "Replay"("projectId", "id");

-- CreateIndex
CREATE INDEX "Replay_projectId_updatedAt_id_idx" ON "Replay"("projectId", "updatedAt", "id");

-- AddForeignKey
ALTER TABLE "Replay" ADD CONSTRAINT "Replay_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
