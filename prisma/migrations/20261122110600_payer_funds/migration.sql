-- What a payer has in flight, and what was settled a moment ago: read for every payment.
CREATE INDEX "Payment_payer_open" ON "Payment" ("payer") WHERE "leasedUntil" IS NOT NULL;
CREATE INDEX "Payment_payer_settled" ON "Payment" ("payer", "updatedAt") WHERE "status" = 'SETTLED';

-- What failed at VERIFY is kept for an hour.
CREATE INDEX "Payment_refused" ON "Payment" ("createdAt") WHERE "failureStage" = 'VERIFY';
