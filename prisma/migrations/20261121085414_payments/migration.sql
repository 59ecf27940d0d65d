-- CreateEnum
CREATE TYPE "PaymentStatus" AS ENUM ('CLAIMED', 'VERIFIED', 'SERVED', 'SETTLING', 'SETTLED', 'FAILED', 'UNKNOWN');

-- CreateEnum
CREATE TYPE "PaymentStage" AS ENUM ('VERIFY', 'UPSTREAM', 'SETTLE');

-- AlterTable
ALTER TABLE "Project" ADD COLUMN     "gatewayHost" TEXT,
ADD COLUMN     "milestonesAtomic" DECIMAL(38,0)[] DEFAULT ARRAY[1000000, 10000000, 100000000, 1000000000, 10000000000]::DECIMAL(38,0)[];

-- CreateTable
CREATE TABLE "Payment" (
    "id" TEXT COLLATE "C" NOT NULL,
    "projectId" TEXT NOT NULL,
    "endpointId" TEXT NOT NULL,
    "endpointPath" TEXT NOT NULL,
    "method" TEXT NOT NULL,
    "customerId" TEXT,
    "status" "PaymentStatus" NOT NULL DEFAULT 'CLAIMED',
    "failureStage" "PaymentStage",
    "failureReason" TEXT,
    "failureMessage" TEXT,
    "x402Version" INTEGER NOT NULL,
    "network" TEXT NOT NULL,
    "asset" TEXT NOT NULL,
    "assetAddress" TEXT NOT NULL,
    "payer" TEXT NOT NULL,
    "payTo" TEXT NOT NULL,
    "nonce" TEXT NOT NULL,
    "amountAtomic" DECIMAL(38,0) NOT NULL,
    "validAfter" TIMESTAMPTZ(3) NOT NULL,
    "validBefore" TIMESTAMPTZ(3) NOT NULL,
    "authorization" JSON,
    "requestFingerprint" TEXT NOT NULL,
    "upstreamStatusCode" INTEGER,
    "upstreamDurationMs" INTEGER,
    "transactionHash" TEXT,
    "leasedUntil" TIMESTAMPTZ(3),
    "leaseToken" INTEGER NOT NULL DEFAULT 0,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "verifiedAt" TIMESTAMPTZ(3),
    "servedAt" TIMESTAMPTZ(3),
    "settledAt" TIMESTAMPTZ(3),
    "updatedAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Payment_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "PaymentAnswer" (
    "paymentId" TEXT NOT NULL,
    "statusCode" INTEGER NOT NULL,
    "headers" JSON NOT NULL,
    "body" BYTEA NOT NULL,
    "expiresAt" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "PaymentAnswer_pkey" PRIMARY KEY ("paymentId")
);

-- CreateTable
CREATE TABLE "Customer" (
    "id" TEXT COLLATE "C" NOT NULL,
    "projectId" TEXT NOT NULL,
    "walletAddress" TEXT NOT NULL,
    "paymentCount" INTEGER NOT NULL DEFAULT 0,
    "totalAtomic" DECIMAL(38,0) NOT NULL DEFAULT 0,
    "firstPaymentAt" TIMESTAMPTZ(3),
    "lastPaymentAt" TIMESTAMPTZ(3),
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "Customer_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "RevenueDay" (
    "projectId" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "endpointId" TEXT NOT NULL,
    "totalAtomic" DECIMAL(38,0) NOT NULL DEFAULT 0,
    "paymentCount" INTEGER NOT NULL DEFAULT 0,
    "failedCount" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "RevenueDay_pkey" PRIMARY KEY ("projectId","day","endpointId")
);

-- CreateTable
CREATE TABLE "DailySummary" (
    "projectId" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "eventId" TEXT,
    "createdAt" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "DailySummary_pkey" PRIMARY KEY ("projectId","day")
);

-- CreateTable
CREATE TABLE "PreviousPrice" (
    "endpointId" TEXT NOT NULL,
    "priceAtomic" DECIMAL(38,0) NOT NULL,
    "validUntil" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "PreviousPrice_pkey" PRIMARY KEY ("endpointId")
);

-- CreateIndex
CREATE INDEX "Payment_projectId_id_idx" ON "Payment"("projectId", "id");

-- CreateIndex
CREATE INDEX "Payment_projectId_updatedAt_id_idx" ON "Payment"("projectId", "updatedAt", "id");

-- CreateIndex
CREATE INDEX "Payment_projectId_settledAt_idx" ON "Payment"("projectId", "settledAt");

-- CreateIndex
CREATE INDEX "Payment_customerId_id_idx" ON "Payment"("customerId", "id");

-- CreateIndex
CREATE INDEX "Payment_endpointId_id_idx" ON "Payment"("endpointId", "id");

-- CreateIndex
CREATE INDEX "Payment_payer_id_idx" ON "Payment"("payer", "id");

-- CreateIndex
CREATE INDEX "Payment_transactionHash_idx" ON "Payment"("transactionHash");

-- CreateIndex
CREATE INDEX "PaymentAnswer_expiresAt_idx" ON "PaymentAnswer"("expiresAt");

-- CreateIndex
CREATE INDEX "Customer_projectId_totalAtomic_id_idx" ON "Customer"("projectId", "totalAtomic", "id");

-- CreateIndex
CREATE INDEX "Customer_projectId_lastPaymentAt_id_idx" ON "Customer"("projectId", "lastPaymentAt", "id");

-- CreateIndex
CREATE UNIQUE INDEX "Customer_projectId_walletAddress_key" ON "Customer"("projectId", "walletAddress");

-- CreateIndex
CREATE UNIQUE INDEX "Project_gatewayHost_key" ON "Project"("gatewayHost");

-- AddForeignKey
ALTER TABLE "Payment" ADD CONSTRAINT "Payment_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Payment" ADD CONSTRAINT "Payment_customerId_fkey" FOREIGN KEY ("customerId") REFERENCES "Customer"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PaymentAnswer" ADD CONSTRAINT "PaymentAnswer_paymentId_fkey" FOREIGN KEY ("paymentId") REFERENCES "Payment"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "Customer" ADD CONSTRAINT "Customer_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "RevenueDay" ADD CONSTRAINT "RevenueDay_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "DailySummary" ADD CONSTRAINT "DailySummary_projectId_fkey" FOREIGN KEY ("projectId") REFERENCES "Project"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "PreviousPrice" ADD CONSTRAINT "PreviousPrice_endpointId_fkey" FOREIGN KEY ("endpointId") REFERENCES "Endpoint"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- One authorization pays once, whatever the project: the chain refuses its nonce a second time. A payment that failed
-- verification gives the nonce back, so that a forged authorization cannot block the real one.
CREATE UNIQUE INDEX "Payment_authorization" ON "Payment" ("network", "assetAddress", "payer", "nonce") WHERE "failureStage" IS DISTINCT FROM 'VERIFY';

-- Payments that are not final, by when somebody else may take them over.
CREATE INDEX "Payment_lease" ON "Payment" ("leasedUntil") WHERE "leasedUntil" IS NOT NULL;

-- Days whose summary is due or will be.
CREATE INDEX "DailySummary_due" ON "DailySummary" ("day", "projectId") WHERE "eventId" IS NULL;

-- Paths that differ in the names of their parameters only would be one route.
CREATE UNIQUE INDEX "Endpoint_shape" ON "Endpoint" ("projectId", (regexp_replace("path", '/:[^/]+', '/:', 'g')));
