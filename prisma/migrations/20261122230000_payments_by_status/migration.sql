-- Finds the few payments that have failed among the many. A payment enters it once. Those that aren't finished have a lease,
-- and so are in the index "Payment_lease".
CREATE INDEX "Payment_failed" ON "Payment" ("projectId", "id") WHERE "failureStage" IS NOT NULL;
