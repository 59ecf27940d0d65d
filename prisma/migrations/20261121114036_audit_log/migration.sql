-- CreateEnum
CREATE TYPE "AuditActor" AS ENUM ('USER', 'API_KEY');

-- CreateTable
CREATE TABLE "AuditEntry" (
    "id" TEXT COLLATE "C" NOT NULL,
    "userId" TEXT NOT NULL,
    "projectId" TEXT NOT NULL,
    "actorKind" "AuditActor" NOT NULL,
    "actorId" TEXT NOT NULL,
    "actorName" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "targetId" TEXT NOT NULL,
    "changes" JSONB NOT NULL,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "AuditEntry_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "AuditEntry_userId_id_idx" ON "AuditEntry"("userId", "id");

-- CreateIndex
CREATE INDEX "AuditEntry_projectId_id_idx" ON "AuditEntry"("projectId", "id");
