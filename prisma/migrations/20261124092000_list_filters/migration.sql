-- Indexes for filters and for search. Every one of them is either on a table that payments don't write to, or partial, so
-- that a payment writes to it at most once.

-- CreateIndex
CREATE INDEX "AuditEntry_targetId_id_idx" ON "AuditEntry"("targetId", "id");

-- CreateIndex
CREATE INDEX "AuditEntry_actorId_id_idx" ON "AuditEntry"("actorId", "id");

-- CreateIndex
CREATE INDEX "AuditEntry_userId_action_id_idx" ON "AuditEntry"("userId", "action", "id");

-- A payment enters it when it is settled. Failed and open payments are in indexes of their own.
CREATE INDEX "Payment_amount" ON "Payment" ("projectId", "amountAtomic", "id") WHERE "settledAt" IS NOT NULL;

-- The same as before with its columns in another order, so that it also finds identifiers without their payer.
CREATE UNIQUE INDEX "Payment_identifier_by_project" ON "Payment" ("projectId", "paymentIdentifier", "payer")
  WHERE "paymentIdentifier" IS NOT NULL AND "failureStage" IS NULL;
DROP INDEX "Payment_identifier";
ALTER INDEX "Payment_identifier_by_project" RENAME TO "Payment_identifier";

-- Only events about customers are in it: few payments are a customer's first one or reach a milestone.
CREATE INDEX "Event_customer" ON "Event" (("data" ->> 'customerId'), "id")
  WHERE "type" IN ('customer.first_payment', 'customer.milestone');
