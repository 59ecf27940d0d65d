-- Which wallets may pay a project, and how much each of them may buy in a period. Processes of the previous version don't know
-- these rules: they take payments from every wallet, and don't count them.

-- CreateEnum
CREATE TYPE "BuyerLimitPeriod" AS ENUM ('HOUR', 'DAY', 'MONTH');

-- AlterTable
ALTER TABLE "Payment" ADD COLUMN     "buyerUsageId" UUID;

-- CreateTable
CREATE TABLE "BuyerRules" (
    "projectId" TEXT NOT NULL,
    "allowedWallets" TEXT[],
    "deniedWallets" TEXT[],
    "period" "BuyerLimitPeriod" NOT NULL DEFAULT 'DAY',
    "maxRequests" INTEGER,
    "maxSpendAtomic" DECIMAL(38,0),
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT statement_timestamp(),

    CONSTRAINT "BuyerRules_pkey" PRIMARY KEY ("projectId")
);

-- CreateTable
CREATE TABLE "BuyerUsage" (
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "projectId" TEXT NOT NULL,
    "payer" TEXT NOT NULL,
    "period" "BuyerLimitPeriod" NOT NULL,
    "startsAt" TIMESTAMPTZ(3) NOT NULL,
    "endsAt" TIMESTAMPTZ(3) NOT NULL,
    "requestCount" INTEGER NOT NULL DEFAULT 0,
    "spentAtomic" DECIMAL(38,0) NOT NULL DEFAULT 0,

    CONSTRAINT "BuyerUsage_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "BuyerUsage_endsAt_idx" ON "BuyerUsage"("endsAt");

-- CreateIndex
CREATE UNIQUE INDEX "BuyerUsage_projectId_payer_period_startsAt_key" ON "BuyerUsage"("projectId", "payer", "period", "startsAt");

-- AddForeignKey
ALTER TABLE "BuyerRules" ADD CONSTRAINT "BuyerRules_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "BuyerUsage" ADD CONSTRAINT "BuyerUsage_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;
