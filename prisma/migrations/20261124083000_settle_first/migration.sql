-- Payments that are settled before the upstream is called, and identifiers that buyers choose for their payments. Every
-- column is nullable or has a default, so processes of the previous version can go on writing.
ALTER TABLE "Payment"
  ADD COLUMN "settlement" "SettlementOrder" NOT NULL DEFAULT 'AFTER_RESPONSE',
  ADD COLUMN "upstreamCallCount" INTEGER NOT NULL DEFAULT 0,
  ADD COLUMN "callLeasedUntil" TIMESTAMPTZ(3),
  ADD COLUMN "unservedReason" TEXT,
  ADD COLUMN "paymentIdentifier" TEXT;

-- One payment for each identifier. Failed payments release it, because nothing was charged for them.
CREATE UNIQUE INDEX "Payment_identifier" ON "Payment" ("projectId", "payer", "paymentIdentifier")
  WHERE "paymentIdentifier" IS NOT NULL AND "failureStage" IS NULL;
